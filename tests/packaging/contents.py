# SPDX-License-Identifier: Apache-2.0
"""What is packaged: the components of a build tree, and the files that each of them has to install below /."""

import pathlib
import re
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

BUILD = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build"
BINARIES = ["mrcd", "mrcctl", "mrc-doctor", "mrc-view", "mrc-perf", "mrc-sim", "mrc-switch"]
# libmrc-gloo is built where Gloo's headers are.
WITH_GLOO = (BUILD / "lib/libmrc-gloo.so").exists()
# libmrc-fi where libfabric's are.
WITH_LIBFABRIC = (BUILD / "lib/libmrc-fi.so").exists()
PROJECT = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
VERSION = re.search(r"^project\(mrc VERSION ([\d.]+)", PROJECT, re.M)[1]
LIBRARIES = f"usr/lib/{sysconfig.get_config_var('MULTIARCH')}"

FILES = {
    "mrcd": ["usr/sbin/mrcd", "usr/sbin/mrcctl", "usr/sbin/mrc-doctor", "usr/sbin/mrc-view", "usr/bin/mrc-perf",
             "usr/bin/mrc-sim", "usr/bin/mrc-switch", "usr/lib/systemd/system/mrcd.service",
             "usr/lib/systemd/system/mrcd@.service", "usr/lib/sysusers.d/mrc.conf", "usr/lib/tmpfiles.d/mrc.conf",
             "usr/share/doc/mrcd/examples/mrcd.toml",
             *(f"usr/share/doc/mrcd/{name}.md" for name in ("containers", "embedded", "interop", "kernels", "security",
                                                            "sockets")),
             "usr/share/man/man8/mrcd.8.gz",
             "usr/share/man/man8/mrcctl.8.gz", "usr/share/man/man8/mrc-doctor.8.gz",
             "usr/share/man/man8/mrc-view.8.gz",
             "usr/share/man/man1/mrc-perf.1.gz", "usr/share/man/man1/mrc-sim.1.gz",
             "usr/share/man/man1/mrc-switch.1.gz",
             *(f"usr/share/bash-completion/completions/{name}" for name in ("mrcctl", "mrc-doctor", "mrc-perf",
                                                                               "mrc-view")),
             *(f"usr/share/mrc/view/{path.name}" for path in sorted((ROOT / "agent/tools/mrc-view/page").iterdir())),
             "usr/share/zsh/vendor-completions/_mrc", f"{LIBRARIES}/mrc/libmrc-embedded.so"],
    "libmrc1": [f"{LIBRARIES}/lib_mrc.so", f"{LIBRARIES}/libmrc-heap.so", f"{LIBRARIES}/libmrc.so.1",
                f"{LIBRARIES}/libmrc.so.{VERSION}", "usr/share/man/man7/mrc-heap.7.gz"],
    "libmrc-dev": ["usr/include/mrc.h", "usr/include/mrc/control.h", "usr/include/mrc/memory.h",
                   "usr/include/mrc/report.h", "usr/include/mrc/wait.h", "usr/include/mrc_api_ver.h",
                   "usr/include/mrc_ctl.h", "usr/include/mrc_ctl_api_ver.h", f"{LIBRARIES}/libmrc.so",
                   f"{LIBRARIES}/pkgconfig/mrc.pc",
                   f"{LIBRARIES}/cmake/mrc/mrc-config.cmake", f"{LIBRARIES}/cmake/mrc/mrc-config-version.cmake",
                   "usr/share/doc/libmrc-dev/api.md",
                   *(f"usr/share/doc/libmrc-dev/examples/{name}"
                     for name in ("CMakeLists.txt", "Makefile", "README.md", "exchange.h", "send_file.c",
                                  "send_file.cpp"))],
    "mrc-lab": ["usr/bin/mrc-lab", "usr/share/mrc-lab/mrc-lab", "usr/share/man/man1/mrc-lab.1.gz",
                "usr/share/bash-completion/completions/mrc-lab",
                *(f"usr/share/mrc-lab/lab/{path.name}" for path in sorted((ROOT / "scripts/lab").glob("*.py"))
                  if path.name != "stage.py")],  # which is of the demonstrations
    "mrc-nccl": [f"{LIBRARIES}/libnccl-net-mrc.so", "usr/share/doc/mrc-nccl/nccl.md"],
}
if WITH_GLOO:
    FILES["mrc-gloo"] = [f"{LIBRARIES}/libmrc-gloo.so", "usr/lib/python3/dist-packages/mrc-gloo.pth",
                         "usr/lib/python3/dist-packages/mrc_gloo.py",
                         "usr/lib/python3/dist-packages/mrc_gloo_backend.py",
                         *(f"usr/lib/python3/dist-packages/mrc_gloo-{VERSION}.dist-info/{name}"
                           for name in ("METADATA", "entry_points.txt")),
                         "usr/share/doc/mrc-gloo/gloo.md",
                         "usr/bin/mrc-collectives", "usr/share/man/man1/mrc-collectives.1.gz",
                         "usr/share/man/man7/mrc-gloo.7.gz"]
if WITH_LIBFABRIC:
    FILES["mrc-libfabric"] = [f"{LIBRARIES}/libfabric/libmrc-fi.so", "usr/share/doc/mrc-libfabric/mpi.md"]
for _package, _files in FILES.items():
    _files += [f"usr/share/doc/{_package}/{_name}" for _name in ("changelog.Debian.gz", "changelog.gz", "copyright")]
    _files += [f"usr/share/lintian/overrides/{_package}"]
PACKAGES = sorted(FILES)
MANUAL_PAGES = sorted(name for names in FILES.values() for name in names if name.startswith("usr/share/man/"))
