#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages of a build tree: made without building, installed into a root of their own, removed, purged.

usage: deb.py BUILD

Nothing of this machine changes: dpkg works below a temporary folder, and its scripts run with DPKG_ROOT set to it.
"""

import os
import pathlib
import re
import shutil
import stat
import sys
import tempfile

from contents import BINARIES, BUILD, FILES, LIBRARIES, PACKAGES, VERSION
from installed import check_first_start, check_manual_pages, check_units, check_version
from installed_lab import check_lab
from lab_support import check, need_root, skip
from package_root import package_root, recorded_system, run


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


def check_library_alone(made, folder):
    """A program that knows the library by its published name finds it with libmrc1 and nothing else."""
    root = package_root(folder)
    root.dpkg("--install", next(path for path in made if path.name.startswith("libmrc1_")))
    run(sys.executable, "-c", "import ctypes; ctypes.CDLL('lib_mrc.so').mrc_query_version(None, None, None, None)",
        env=os.environ | {"LD_LIBRARY_PATH": str(folder / LIBRARIES)})
    check(True, "lib_mrc.so is there with libmrc1 alone")


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
    said = root.dpkg("--install", *made)
    expected = sorted(name for names in FILES.values() for name in names)
    check(root.left() == expected, "dpkg installs exactly these files")
    check("mrcctl setup" in said, "and its first installation says how the host is configured")
    for file in ("etc/group", "etc/passwd"):
        check("\nmrc:" in (folder / file).read_text(encoding="ascii"), f"mrc is in /{file}")
    check(stat.S_IMODE((folder / "usr/sbin/mrcd").stat().st_mode) == 0o755, "modes are the usual ones")
    check_units(folder)
    check_first_start(folder)
    check_version(folder)
    check_manual_pages(folder)
    check_lab(folder)
    check_removal(made, root)


def check_removal(made, root):
    """What the operator has configured and enabled survives all but a purge."""
    wanted = root.path / "etc/systemd/system/multi-user.target.wants"
    wanted.mkdir(parents=True)
    (wanted / "mrcd@a.service").symlink_to("/usr/lib/systemd/system/mrcd@.service")
    (root.path / "etc/mrc").mkdir()
    for name in ("mrcd.toml", "mrcd.toml.before-setup"):
        (root.path / "etc/mrc" / name).write_text("# the operator's\n", encoding="utf-8")
    own = ["etc/mrc/mrcd.toml", "etc/mrc/mrcd.toml.before-setup",
           str((wanted / "mrcd@a.service").relative_to(root.path))]
    said = root.dpkg("--install", *made)
    check((root.path / own[0]).read_text(encoding="utf-8") == "# the operator's\n" and "mrcctl setup" not in said,
          "the operator's configuration survives a new installation")
    root.dpkg("--remove", *PACKAGES)
    check(root.left() == own, "removal leaves the configuration and what is enabled")
    root.dpkg("--purge", *PACKAGES)
    check(root.left() == [str(wanted.relative_to(root.path)) + "/"], "purging leaves nothing")


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
