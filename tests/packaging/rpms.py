#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The packages for rpm of a build tree beside those for Debian: the same files, what they need, what their scripts do.

usage: rpms.py BUILD
"""

import pathlib
import re
import shutil
import tempfile

from contents import BUILD, FILES, VERSION
from lab_support import check, need_root, skip
from package_root import recorded_system, run

NAMES = {"libmrc-dev": "libmrc-devel"}
OWN_FOLDER = re.compile(r"/usr/(share/doc/(lib)?mrc|share/mrc(-lab)?|include/mrc|lib/[^/]*/(cmake/)?mrc|"
                        r"lib/python3/dist-packages/mrc_gloo-[^/]*$)")


def expected(files):
    """What the Debian package has, but for what only Debian knows."""
    here = [name for name in files if "/lintian/" not in name and not name.endswith("/changelog.Debian.gz")]
    return sorted("/" + name.replace("zsh/vendor-completions", "zsh/site-functions") for name in here)


def query(path, *arguments):
    return run("rpm", "--query", "--package", *arguments, path).splitlines()


def make_packages(folder):
    run("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "RPM", "-B", folder)
    made = {query(path, "--queryformat", "%{NAME}")[0]: path for path in folder.glob("*.rpm")}
    check(sorted(made) == sorted(NAMES.get(name, name) for name in FILES), f"packages: {', '.join(sorted(made))}")
    return made


def check_files(made):
    for name, files in FILES.items():
        path = made[NAMES.get(name, name)]
        listed = [line.split("\t") for line in query(path, "--queryformat",
                                                     "[%{FILEMODES:perms}\t%{FILEUSERNAME}\t%{FILENAMES}\n]")]
        found = sorted(file for mode, _, file in listed if not mode.startswith("d"))
        check(found == expected(files), f"{path.name} has the files of {name} ({len(found)})")
        check(all(owner == "root" for _, owner, _ in listed), "which are root's")
        folders = [file for mode, _, file in listed if mode.startswith("d")]
        check(all(OWN_FOLDER.match(folder) for folder in folders), f"and its own folders only: {len(folders)}")


def needed(program):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", BUILD / "bin" / program))


def check_fields(made):
    for name, path in made.items():
        version, architecture, licence = query(path, "--queryformat", "%{VERSION}-%{RELEASE}\n%{ARCH}\n%{LICENSE}")
        check(version == f"{VERSION}-1" and licence.startswith("Apache-2.0"), f"{name}: {version}, {licence}")
        check((architecture == "noarch") == (name == "mrc-lab"), f"for {architecture}")
    requires = query(made["mrcd"], "--requires")
    libraries = {name for program in ("mrcd", "mrcctl", "mrc-perf") for name in needed(program)}
    missing = [name for name in libraries if not any(line.startswith(f"{name}(") for line in requires)]
    check(libraries and not missing, f"mrcd requires the libraries that its programs link, {len(libraries)} {missing}")
    for name, required in (("mrcd", "libmrc1"), ("libmrc-devel", "libmrc1"), ("mrc-nccl", "libmrc1"),
                           ("mrc-lab", "mrcd")):
        check(f"{required} = {VERSION}-1" in query(made[name], "--requires"), f"{name} requires its own {required}")
    check("libmrc.so.1()(64bit)" in query(made["libmrc1"], "--provides"), "libmrc1 provides the library")


def check_scripts(made, folder):
    system = recorded_system(folder)

    def does(tag, number):
        script = folder / tag
        script.write_text("#!/bin/sh\n" + "\n".join(query(made["mrcd"], "--queryformat", f"%{{{tag}}}")) + "\n",
                          encoding="ascii")
        script.chmod(0o755)
        return system.run(script, number)

    done = does("POSTIN", "1")
    check(done == ["systemd-sysusers mrc.conf", "systemd-tmpfiles --create mrc.conf",
                   "systemctl --system daemon-reload"],
          f"installing makes the user and tells systemd of the units: {done}")
    done = [*does("POSTIN", "2"), *does("PREUN", "1"), *does("POSTUN", "1")]
    check(not any(re.search("start|stop|reload-or|kill", line) for line in done), "an upgrade starts and stops nothing")
    done = does("PREUN", "0")
    check(done == ["systemctl stop mrcd.service mrcd@*.service"], f"a removal stops what runs: {done}")
    check(not any(query(path, "--scripts") for name, path in made.items() if name != "mrcd"),
          "the others have no scripts")


def main():
    need_root()
    for tool in ("rpmbuild", "rpm", "cpack"):
        if shutil.which(tool) is None:
            skip(f"{tool} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "scripts").mkdir()
        made = make_packages(work / "packages")
        check_files(made)
        check_fields(made)
        check_scripts(made, work / "scripts")


if __name__ == "__main__":
    main()
