# SPDX-License-Identifier: Apache-2.0
"""What is looked at in an installation: units, versions, manual pages, the start of a daemon that nobody configured."""

import gzip
import os
import pathlib
import re
import shutil
import tempfile

from contents import BINARIES, LIBRARIES, MANUAL_PAGES, VERSION
from lab_support import check
from package_root import run

UNITS = ("mrcd.service", "mrcd@.service")


def unit_text(folder, name):
    return (folder / "usr/lib/systemd/system" / name).read_text(encoding="ascii")


def check_units(folder):
    for name in UNITS:
        text = unit_text(folder, name)
        check("ExecStart=/usr/sbin/mrcd --config /etc/mrc/" in text and "Type=notify" in text and "{" not in text,
              f"{name} names the daemon")
    if not shutil.which("systemd-analyze"):
        print("skipped: systemd-analyze is not here to verify the units")
        return
    # Its own copy: systemd looks for the binary that the unit names.
    with tempfile.TemporaryDirectory() as copies:
        for name, as_name in (("mrcd.service", "mrcd.service"), ("mrcd@.service", "mrcd@lab.service")):
            unit = pathlib.Path(copies) / as_name
            unit.write_text(unit_text(folder, name).replace("/usr/sbin/mrcd", f"{folder}/usr/sbin/mrcd")
                            .replace("man:mrcd(8)", f"file:{folder}/usr/share/man/man8/mrcd.8.gz"), encoding="ascii")
            found = [line for line in run("systemd-analyze", "verify", "--recursive-errors=no", unit).splitlines()
                     if as_name in line]
            check(not found, f"systemd-analyze has nothing to say of {as_name} {found or ''}")


def check_first_start(folder):
    """Nothing is configured by installing: the daemon says so in one line, and systemd does not retry its status."""
    config = folder / "etc/mrc/mrcd.toml"
    check(not config.exists(), "no configuration is installed")
    said = run(folder / "usr/sbin/mrcd", "--config", config, status=2)
    check(len(said.splitlines()) == 1 and str(config) in said, f"a start without one: {said.strip()}")
    for name in UNITS:
        lines = unit_text(folder, name).splitlines()
        check("RestartPreventExitStatus=2" in lines, f"{name}: systemd does not try that again")
        check("StartLimitIntervalSec=0" in lines[lines.index("[Unit]"):lines.index("[Service]")],
              "and never gives up what may pass")
        check("StandardError=journal" in lines, "and keeps the line")
        shell = next(line for line in lines if line.startswith("ExecStartPre=")).split("=", 1)[1]
        command = re.fullmatch(r"-/bin/sh -c '(.*)'", shell)[1].replace("/etc/mrc", str(config.parent))
        check(run("sh", "-c", command) == "", "and what comes before it says nothing")
    sample = folder / "usr/share/doc/mrcd/examples/mrcd.toml"
    check("configuration is valid" in run(folder / "usr/sbin/mrcd", "--config", sample, "--check"),
          "the installed daemon accepts the installed example")


def check_version(folder):
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


def check_manual_pages(folder):
    check(all(gzip.decompress((folder / name).read_bytes()).startswith(b'.\\"') for name in MANUAL_PAGES),
          f"manual pages are compressed: {len(MANUAL_PAGES)}")
