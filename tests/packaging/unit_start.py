#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""systemd starts the unit of a host that nobody has configured: one attempt, and one line in the journal that names
what is missing."""

import pathlib
import tempfile

from systemd_machine import ROOT, booted, make_root, need_systemd

from lab_support import binary, check, need_binaries, need_root

PACKAGING = ROOT / "scripts/packaging/systemd"
UNIT = "mrcd@unconfigured.service"
PROPERTIES = {"ActiveState=failed", "NRestarts=0", "ExecMainStatus=2"}


def unit():
    text = (PACKAGING / "mrcd@.service.in").read_text(encoding="ascii")
    common = (PACKAGING / "service-common.conf").read_text(encoding="ascii")
    return text.replace("{SBINDIR}", "/opt").replace("{COMMON}", common)


def main():
    need_root()
    need_binaries("mrcd")
    need_systemd()
    with tempfile.TemporaryDirectory() as folder:
        make_root(pathlib.Path(folder), {"mrcd@.service": unit()})
        programs = pathlib.Path(binary("mrcd")).resolve().parent
        with booted(pathlib.Path(folder), "basic.target", {"/opt": programs}) as host:
            done = host.run("systemctl", "start", UNIT)
            check(done.returncode == 1 and UNIT in done.stderr, f"systemctl start says that it failed: {done.stderr}")
            shown = host.run("systemctl", "show", "--property=ActiveState,NRestarts,ExecMainStatus", UNIT).stdout
            check(set(shown.split()) == PROPERTIES, f"and it is not tried again: {shown.split()}")
            said = host.run("journalctl", "--no-pager", "--output=cat", "--identifier=mrcd").stdout.splitlines()
            check(len(said) == 1 and "/etc/mrc/unconfigured.toml" in said[0], f"the journal says why: {said}")


if __name__ == "__main__":
    main()
