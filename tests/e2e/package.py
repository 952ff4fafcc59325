#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages of a build tree: made without building, installed into a root of their own, removed, purged.

usage: package.py BUILD

Nothing of this machine changes: dpkg works below a temporary folder, and its scripts run with DPKG_ROOT set to it.
"""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

from lab_support import check, need_root, skip

BUILD = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2] / "build"
BINARIES = ["mrcd", "mrcctl", "mrc-doctor", "mrc-perf", "mrc-sim", "mrc-switch"]
PACKAGES = ["libmrc-dev", "libmrc1", "mrcd"]

FILES = {
    "mrcd": ["etc/mrc/mrcd.toml", "usr/sbin/mrcd", "usr/sbin/mrcctl", "usr/sbin/mrc-doctor", "usr/bin/mrc-perf",
             "usr/bin/mrc-sim", "usr/bin/mrc-switch", "usr/lib/systemd/system/mrcd.service",
             "usr/lib/systemd/system/mrcd@.service", "usr/lib/sysusers.d/mrc.conf", "usr/lib/tmpfiles.d/mrc.conf",
             "usr/share/doc/mrcd/interop.md", "usr/share/doc/mrcd/kernels.md", "usr/share/doc/mrcd/security.md",
             "usr/share/man/man8/mrcd.8", "usr/share/man/man8/mrcctl.8", "usr/share/man/man8/mrc-doctor.8",
             "usr/share/man/man1/mrc-perf.1", "usr/share/man/man1/mrc-sim.1", "usr/share/man/man1/mrc-switch.1"],
    "libmrc1": ["usr/lib/libmrc.so.1", "usr/lib/libmrc.so.1.0.1"],
    "libmrc-dev": ["usr/include/mrc.h", "usr/include/mrc/control.h", "usr/include/mrc/memory.h",
                   "usr/include/mrc/report.h", "usr/include/mrc_api_ver.h", "usr/include/mrc_ctl.h",
                   "usr/include/mrc_ctl_api_ver.h", "usr/lib/libmrc.so", "usr/lib/lib_mrc.so",
                   "usr/lib/pkgconfig/mrc.pc", "usr/share/doc/libmrc-dev/api.md"],
}


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
    check(all(name in depends for name in ("libbpf1", "libxdp1", "libmrc1")),
          f"mrcd depends on what it links: {depends.strip()}")


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
                            .replace("man:mrcd(8)", f"file:{root.path}/usr/share/man/man8/mrcd.8"), encoding="ascii")
            found = [line for line in run("systemd-analyze", "verify", "--recursive-errors=no", unit).splitlines()
                     if as_name in line]
            check(not found, f"systemd-analyze has nothing to say of {as_name} {found or ''}")


def check_life(made, folder):
    root = package_root(folder)
    root.dpkg("--install", *made)
    expected = sorted(name for names in FILES.values() for name in names)
    check(root.left() == expected, "dpkg installs exactly these files")
    check("\nmrc:" in (folder / "etc/group").read_text(encoding="ascii"), "group mrc is there")
    check(stat.S_IMODE((folder / "usr/sbin/mrcd").stat().st_mode) == 0o755, "modes are the usual ones")
    check_units(root)
    said = run(folder / "usr/sbin/mrcd", "--config", folder / "etc/mrc/mrcd.toml", "--check")
    check("configuration is valid" in said, "the installed daemon accepts the installed configuration")
    sample = folder / "etc/mrc/mrcd.toml"
    sample.write_text(sample.read_text(encoding="utf-8") + "# the operator's\n", encoding="utf-8")
    root.dpkg("--install", *made)
    check(sample.read_text(encoding="utf-8").endswith("# the operator's\n"), "the operator's configuration survives")
    root.dpkg("--remove", *PACKAGES)
    check(root.left() == ["etc/mrc/mrcd.toml"], "removal leaves the configuration only")
    root.dpkg("--purge", "mrcd")
    check(root.left() == [], "purging leaves nothing")


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
        (work / "packages").mkdir()
        (work / "root").mkdir()
        made = make_packages(work / "packages")
        check_contents(made)
        check_life(made, work / "root")


if __name__ == "__main__":
    main()
