#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages of a build tree: made without building, installed into a root of their own, removed, purged.

usage: package.py BUILD

Nothing of this machine changes: dpkg works below a temporary folder, and its scripts run with DPKG_ROOT set to it.
"""

import gzip
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile

from lab_support import ROOT, check, need_root, skip

BUILD = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2] / "build"
BINARIES = ["mrcd", "mrcctl", "mrc-doctor", "mrc-perf", "mrc-sim", "mrc-switch"]
# libmrc-gloo is built where Gloo's headers are.
WITH_GLOO = (BUILD / "lib/libmrc-gloo.so").exists()
# libmrc-fi where libfabric's are.
WITH_LIBFABRIC = (BUILD / "lib/libmrc-fi.so").exists()
PACKAGES = ["libmrc-dev", "libmrc1", *(["mrc-gloo"] if WITH_GLOO else []),
            *(["mrc-libfabric"] if WITH_LIBFABRIC else []), "mrc-nccl", "mrcd"]
PROJECT = (pathlib.Path(ROOT) / "CMakeLists.txt").read_text(encoding="utf-8")
VERSION = re.search(r"^project\(mrc VERSION ([\d.]+)", PROJECT, re.M)[1]

LIBRARIES = f"usr/lib/{sysconfig.get_config_var('MULTIARCH')}"

FILES = {
    "mrcd": ["etc/mrc/mrcd.toml", "usr/sbin/mrcd", "usr/sbin/mrcctl", "usr/sbin/mrc-doctor", "usr/bin/mrc-perf",
             "usr/bin/mrc-sim", "usr/bin/mrc-switch", "usr/lib/systemd/system/mrcd.service",
             "usr/lib/systemd/system/mrcd@.service", "usr/lib/sysusers.d/mrc.conf", "usr/lib/tmpfiles.d/mrc.conf",
             "usr/share/doc/mrcd/interop.md", "usr/share/doc/mrcd/kernels.md", "usr/share/doc/mrcd/security.md",
             "usr/share/doc/mrcd/sockets.md", "usr/share/man/man8/mrcd.8.gz",
             "usr/share/man/man8/mrcctl.8.gz", "usr/share/man/man8/mrc-doctor.8.gz",
             "usr/share/man/man1/mrc-perf.1.gz", "usr/share/man/man1/mrc-sim.1.gz",
             "usr/share/man/man1/mrc-switch.1.gz", "usr/share/bash-completion/completions/mrcctl",
             "usr/share/zsh/vendor-completions/_mrcctl"],
    "libmrc1": [f"{LIBRARIES}/lib_mrc.so", f"{LIBRARIES}/libmrc.so.1", f"{LIBRARIES}/libmrc.so.{VERSION}"],
    "libmrc-dev": ["usr/include/mrc.h", "usr/include/mrc/control.h", "usr/include/mrc/memory.h",
                   "usr/include/mrc/report.h", "usr/include/mrc_api_ver.h", "usr/include/mrc_ctl.h",
                   "usr/include/mrc_ctl_api_ver.h", f"{LIBRARIES}/libmrc.so", f"{LIBRARIES}/pkgconfig/mrc.pc",
                   f"{LIBRARIES}/cmake/mrc/mrc-config.cmake", f"{LIBRARIES}/cmake/mrc/mrc-config-version.cmake",
                   "usr/share/doc/libmrc-dev/api.md",
                   *(f"usr/share/doc/libmrc-dev/examples/{name}"
                     for name in ("CMakeLists.txt", "Makefile", "README.md", "exchange.h", "send_file.c",
                                  "send_file.cpp"))],
}
FILES["mrc-nccl"] = [f"{LIBRARIES}/libnccl-net-mrc.so", "usr/share/doc/mrc-nccl/nccl.md"]
if WITH_GLOO:
    FILES["mrc-gloo"] = [f"{LIBRARIES}/libmrc-gloo.so", "usr/lib/python3/dist-packages/mrc-gloo.pth",
                         "usr/lib/python3/dist-packages/mrc_gloo.py", "usr/share/doc/mrc-gloo/gloo.md",
                         "usr/share/man/man7/mrc-gloo.7.gz"]
if WITH_LIBFABRIC:
    FILES["mrc-libfabric"] = [f"{LIBRARIES}/libfabric/libmrc-fi.so", "usr/share/doc/mrc-libfabric/mpi.md"]
for _package, _files in FILES.items():
    _files += [f"usr/share/doc/{_package}/{_name}" for _name in ("changelog.Debian.gz", "changelog.gz", "copyright")]
    _files += [f"usr/share/lintian/overrides/{_package}"]


def run(*argv, status=0, **options):
    done = subprocess.run([str(word) for word in argv], text=True, capture_output=True, check=False, **options)
    if done.returncode != status:
        sys.exit(f"FAIL: {' '.join(map(str, argv))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def files_below(folder):
    """Files and symbolic links, relative; folders that are empty count, too."""
    found = []
    for path, folders, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(path, name), folder) for name in names]
        if not folders and not names:
            found.append(os.path.relpath(path, folder) + "/")
    return sorted(found)


def make_packages(folder):
    before = {name: (BUILD / "bin" / name).stat().st_mtime_ns for name in BINARIES}
    run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder)
    check(before == {name: (BUILD / "bin" / name).stat().st_mtime_ns for name in BINARIES}, "nothing is built again")
    made = sorted(folder.glob("*.deb"))
    check([path.name.split("_")[0] for path in made] == PACKAGES, f"packages: {[path.name for path in made]}")
    return made


def check_contents(made):
    for path in made:
        name = path.name.split("_")[0]
        listed = run("dpkg-deb", "--contents", path)
        files = sorted(re.sub(r" -> .*", "", line.split(maxsplit=5)[5]).removeprefix("./")
                       for line in listed.splitlines() if not line.startswith("d"))
        check(files == sorted(FILES[name]), f"{name} has the files that it should ({len(files)})")
        check(all("root/root" in line for line in listed.splitlines()), f"{name}: all are root's")
    mrcd = next(path for path in made if path.name.startswith("mrcd_"))
    depends = run("dpkg-deb", "--field", mrcd, "Depends")
    check(all(name in depends for name in ("libbpf1", "libmnl0", "libxdp1", "libmrc1")),
          f"mrcd depends on what it links: {depends.strip()}")


def check_fields(made):
    for path in made:
        fields = run("dpkg-deb", "--field", path)
        maintainer = re.search(r"^Maintainer: (.+) <(.+)@(.+)>$", fields, re.M)
        check(maintainer and maintainer[2] != "root" and maintainer[3] != "localhost",
              f"{path.name}: somebody answers for it: {maintainer and maintainer[0]}")
        check(re.search(rf"^Version: {re.escape(VERSION)}-\d+$", fields, re.M), f"{path.name}: version {VERSION}")


def check_lintian(made):
    """No error and no warning but those that an override answers; and no override without its warning."""
    if not shutil.which("lintian"):
        print("skipped: lintian is not here to judge the packages")
        return
    said = run("lintian", "--allow-root", "--no-cfg", "--display-info", "--tag-display-limit", "0", "--fail-on", "none",
               *made)
    found = [line for line in said.splitlines() if line[:2] in ("E:", "W:") or "-override" in line]
    check(not found, "lintian finds nothing " + "; ".join(found))


class package_root:
    """An installation of its own below a folder."""

    def __init__(self, folder):
        self.path = folder
        for name in ("info", "updates", "triggers"):
            (folder / "var/lib/dpkg" / name).mkdir(parents=True)
        (folder / "var/lib/dpkg/status").touch()
        (folder / "etc").mkdir()
        (folder / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n", encoding="ascii")
        (folder / "etc/group").write_text("root:x:0:\n", encoding="ascii")
        self.before = set(files_below(folder))

    def dpkg(self, *arguments):
        return run("dpkg", f"--root={self.path}", "--force-script-chrootless", "--force-depends",
                   f"--log={self.path}/var/log-of-dpkg", *arguments)

    def left(self):
        """What was not there at first, apart from dpkg's own records and the accounts."""
        own = re.compile(r"var/|etc/(passwd|group|gshadow|shadow)-?$|etc/\.pwd\.lock$")
        return [name for name in files_below(self.path) if name not in self.before and not own.match(name)]


def check_units(root):
    for name in ("mrcd.service", "mrcd@.service"):
        text = (root.path / "usr/lib/systemd/system" / name).read_text(encoding="ascii")
        check("ExecStart=/usr/sbin/mrcd --config /etc/mrc/" in text and "Type=notify" in text and "{" not in text,
              f"{name} names the daemon")
    if not shutil.which("systemd-analyze"):
        print("skipped: systemd-analyze is not here to verify the units")
        return
    # Its own copy: systemd looks for the binary that the unit names.
    with tempfile.TemporaryDirectory() as folder:
        for name, as_name in (("mrcd.service", "mrcd.service"), ("mrcd@.service", "mrcd@lab.service")):
            text = (root.path / "usr/lib/systemd/system" / name).read_text(encoding="ascii")
            unit = pathlib.Path(folder) / as_name
            unit.write_text(text.replace("/usr/sbin/mrcd", f"{root.path}/usr/sbin/mrcd")
                            .replace("man:mrcd(8)", f"file:{root.path}/usr/share/man/man8/mrcd.8.gz"), encoding="ascii")
            found = [line for line in run("systemd-analyze", "verify", "--recursive-errors=no", unit).splitlines()
                     if as_name in line]
            check(not found, f"systemd-analyze has nothing to say of {as_name} {found or ''}")


def check_version(root, folder):
    """One version everywhere: the project's."""
    for name in BINARIES:
        path = next(folder / where / name for where in ("usr/sbin", "usr/bin") if (folder / where / name).exists())
        said = run(path, "--version", env=os.environ | {"LD_LIBRARY_PATH": str(folder / LIBRARIES)}).split()
        check(said[-1] == VERSION, f"{name} --version: {' '.join(said)}")
    library = os.readlink(folder / LIBRARIES / "libmrc.so.1")
    check(library == f"libmrc.so.{VERSION}", f"the library is {library}")
    description = (folder / LIBRARIES / "pkgconfig/mrc.pc").read_text(encoding="utf-8")
    check(f"\nVersion: {VERSION}\n" in description, "and mrc.pc says the same")
    config = (folder / LIBRARIES / "cmake/mrc/mrc-config-version.cmake").read_text(encoding="utf-8")
    check(f'set(PACKAGE_VERSION "{VERSION}")' in config, "and CMake's package")
    pages = [name for name in root.left() if name.startswith("usr/share/man/")]
    check(all(gzip.decompress((folder / name).read_bytes()).startswith(b'.\\"') for name in pages)
          and len(pages) == 6 + WITH_GLOO,
          f"manual pages are compressed: {len(pages)}")


def check_library_alone(made, folder):
    """A program that knows the library by its published name finds it with libmrc1 and nothing else."""
    root = package_root(folder)
    root.dpkg("--install", next(path for path in made if path.name.startswith("libmrc1_")))
    run(sys.executable, "-c", "import ctypes; ctypes.CDLL('lib_mrc.so').mrc_query_version(None, None, None, None)",
        env=os.environ | {"LD_LIBRARY_PATH": str(folder / LIBRARIES)})
    check(True, "lib_mrc.so is there with libmrc1 alone")


class recorded_system:
    """A maintainer script as root of a machine with systemd, whose commands are recorded instead of run."""

    COMMANDS = ("systemctl", "deb-systemd-invoke", "systemd-sysusers", "systemd-tmpfiles", "groupadd", "invoke-rc.d")

    def __init__(self, folder):
        self.record = folder / "record"
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name in self.COMMANDS:
            (self.bin / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {self.record}\n', encoding="ascii")
            (self.bin / name).chmod(0o755)

    def run(self, script, *arguments):
        self.record.write_text("", encoding="ascii")
        run("unshare", "--mount", "sh", "-ec",
            'mount -t tmpfs none /run; mkdir -p /run/systemd/system; exec "$0" "$@"', script, *arguments,
            env={"PATH": f"{self.bin}:/usr/bin:/bin:/usr/sbin:/sbin"})
        return self.record.read_text(encoding="ascii").splitlines()


def check_upgrade(made, folder):
    """A running daemon carries somebody's job: an upgrade leaves it alone, a removal stops it."""
    run("dpkg-deb", "--control", next(path for path in made if path.name.startswith("mrcd_")), folder / "control")
    system = recorded_system(folder)
    done = [*system.run(folder / "control/prerm", "upgrade", "9.9-1"),
            *system.run(folder / "control/postrm", "upgrade", "9.9-1"),
            *system.run(folder / "control/postinst", "configure", "0.0.9-1")]
    check(any("daemon-reload" in line for line in done), f"an upgrade tells systemd of the units: {done}")
    check(not any(re.search("start|stop|reload-or|kill", line) for line in done), "and starts and stops nothing")
    done = system.run(folder / "control/prerm", "remove")
    check(done == ["deb-systemd-invoke stop mrcd.service mrcd@*.service"], f"a removal stops what runs: {done}")


def check_installation(made, folder):
    root = package_root(folder)
    root.dpkg("--install", *made)
    expected = sorted(name for names in FILES.values() for name in names)
    check(root.left() == expected, "dpkg installs exactly these files")
    for file in ("etc/group", "etc/passwd"):
        check("\nmrc:" in (folder / file).read_text(encoding="ascii"), f"mrc is in /{file}")
    check(stat.S_IMODE((folder / "usr/sbin/mrcd").stat().st_mode) == 0o755, "modes are the usual ones")
    check_units(root)
    check_version(root, folder)
    wanted = folder / "etc/systemd/system/multi-user.target.wants"
    wanted.mkdir(parents=True)
    (wanted / "mrcd@a.service").symlink_to("/usr/lib/systemd/system/mrcd@.service")
    said = run(folder / "usr/sbin/mrcd", "--config", folder / "etc/mrc/mrcd.toml", "--check")
    check("configuration is valid" in said, "the installed daemon accepts the installed configuration")
    sample = folder / "etc/mrc/mrcd.toml"
    sample.write_text(sample.read_text(encoding="utf-8") + "# the operator's\n", encoding="utf-8")
    root.dpkg("--install", *made)
    check(sample.read_text(encoding="utf-8").endswith("# the operator's\n"), "the operator's configuration survives")
    root.dpkg("--remove", *PACKAGES)
    check(root.left() == ["etc/mrc/mrcd.toml", str((wanted / "mrcd@a.service").relative_to(folder))],
          "removal leaves the configuration and what is enabled")
    root.dpkg("--purge", *PACKAGES)
    check(root.left() == [str(wanted.relative_to(folder)) + "/"], "purging leaves nothing")


def main():
    need_root()
    for tool in ("dpkg", "dpkg-shlibdeps", "cpack"):
        if shutil.which(tool) is None:
            skip(f"{tool} is not installed")
    missing = [name for name in BINARIES if not (BUILD / "bin" / name).exists()]
    if missing or not (BUILD / "lib/libmrc.so.1").exists():
        skip(f"{BUILD} has no {', '.join(missing) or 'libmrc'}")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for name in ("packages", "root", "library", "upgrade"):
            (work / name).mkdir()
        made = make_packages(work / "packages")
        check_contents(made)
        check_fields(made)
        check_lintian(made)
        check_library_alone(made, work / "library")
        check_upgrade(made, work / "upgrade")
        check_installation(made, work / "root")


if __name__ == "__main__":
    main()
