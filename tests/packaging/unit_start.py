#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""systemd starts the unit of a host that nobody has configured: one attempt, and one line in the journal that names
what is missing. The same for a command line that mrcd does not take. What else keeps the daemon from starting may pass:
it is tried again, however often it was in vain."""

import pathlib
import re
import tempfile

from systemd_machine import ROOT, booted, make_root, need_systemd

from lab_support import DEADLINE_S, binary, check, need_binaries, need_root
from lab.wait_until import wait_until

PACKAGING = ROOT / "scripts/packaging/systemd"
UNIT = "mrcd@unconfigured.service"
MISTYPED = "mistyped.service"
LATE = "late.service"
IN_VAIN = 8  # starts; systemd itself gives up after five within ten seconds
PROPERTIES = {"ActiveState=failed", "NRestarts=0", "ExecMainStatus=2"}


def unit():
    text = (PACKAGING / "mrcd@.service.in").read_text(encoding="ascii")
    common = (PACKAGING / "service-common.conf").read_text(encoding="ascii")
    return text.replace("{SBINDIR}", "/opt").replace("{COMMON}", common)


def late_unit():
    """One whose program fails until /run/here is there, and which systemd tries ten times a second."""
    text = re.sub(r"^ExecStartPre=.*\n", "", unit(), flags=re.M)
    text = re.sub(r"^ExecStart=.*$", "ExecStart=/bin/sh -c 'test -e /run/here && cat /run/stays'", text, flags=re.M)
    return text.replace("Type=notify", "Type=simple").replace("RestartSec=1\n", "RestartSec=100ms\n").replace(
        "WatchdogSec=10\n", "")


def mistyped_unit():
    """With an option that there is not, as a drop-in could have it."""
    return re.sub(r"^ExecStart=(\S+).*$", r"ExecStart=\1 --nonsense", unit(), flags=re.M)


def check_given_up(host, name):
    done = host.run("systemctl", "start", name)
    check(done.returncode == 1 and name in done.stderr, f"systemctl start says that it failed: {done.stderr}")
    shown = host.run("systemctl", "show", "--property=ActiveState,NRestarts,ExecMainStatus", name).stdout
    check(set(shown.split()) == PROPERTIES, f"and it is not tried again: {shown.split()}")
    said = host.run("journalctl", "--no-pager", "--output=cat", "--identifier=mrcd", f"--unit={name}").stdout
    return said.splitlines()


def check_late(host):
    def shown(name):
        return host.run("systemctl", "show", "--value", f"--property={name}", LATE).stdout.strip()
    host.run("systemctl", "start", LATE)
    check(wait_until(lambda: int(shown("NRestarts")) >= IN_VAIN, DEADLINE_S),
          f"a start that fails is tried again: {shown('NRestarts')} times")
    check(shown("Result") != "start-limit-hit", "and not given up")
    host.run("mkfifo", "/run/stays")
    host.run("touch", "/run/here")
    read = host.run("timeout", str(DEADLINE_S), "sh", "-c", "echo > /run/stays")  # ends once it has been read
    check(read.returncode == 0, "and then it runs")


def main():
    need_root()
    need_binaries("mrcd")
    need_systemd()
    with tempfile.TemporaryDirectory() as folder:
        make_root(pathlib.Path(folder), {"mrcd@.service": unit(), MISTYPED: mistyped_unit(), LATE: late_unit()})
        programs = pathlib.Path(binary("mrcd")).resolve().parent
        with booted(pathlib.Path(folder), "basic.target", {"/opt": programs}) as host:
            said = check_given_up(host, UNIT)
            check(len(said) == 1 and "/etc/mrc/unconfigured.toml" in said[0], f"the journal says why: {said}")
            said = check_given_up(host, MISTYPED)
            check(len(said) == 1 and "--nonsense" in said[0], f"the journal says why: {said}")
            check_late(host)


if __name__ == "__main__":
    main()
