#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon as a unit of a real systemd: its lines are in the journal with their priority, and those of events with
fields, by which journalctl finds them, the same as `mrcctl -j event` has."""

import json
import pathlib
import tempfile

from systemd_machine import booted, make_root, need_systemd
from unit_start import unit

from lab_support import DEADLINE_S, binary, check, need_binaries, need_root
from lab.wait_until import wait_until
from setup_support import cabled, ip, new_hosts

NOT_FIELDS = {"number", "time_ns", "time", "text"}


def entries(host, *matches):
    said = host.run("journalctl", "--no-pager", "--output=json", *matches).stdout
    return [json.loads(line) for line in said.splitlines()]


def mrcctl(host, *arguments):
    done = host.run("env", "LD_LIBRARY_PATH=/opt/lib", "/opt/bin/mrcctl", "-j", *arguments)
    if done.returncode != 0:
        check(False, f"mrcctl {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def planes_in_use(host):
    return sum(port["state"] == "up" for port in json.loads(mrcctl(host, "port", "list")))


def check_event(host, hosts, unit_name):
    """A cable is pulled."""
    wanted = ("MRC_EVENT=port_out_of_use", "MRC_DEVICE=eth1")
    ip("-n", hosts.netns("b"), "link", "set", "eth1", "down")
    check(wait_until(lambda: entries(host, *wanted), DEADLINE_S), f"journalctl {' '.join(wanted)} finds the cable")
    entry = entries(host, *wanted)[0]
    check((entry["_SYSTEMD_UNIT"], entry["PRIORITY"], entry["SYSLOG_IDENTIFIER"]) == (unit_name, "6", "mrcd"),
          "as information of the unit")
    shown = mrcctl(host, "event")
    event = next(each for each in map(json.loads, shown.splitlines())
                 if each["event"] == "port_out_of_use" and each["device"] == "eth1")
    check(entry["MESSAGE"] == event["text"], f"with its line: {entry['MESSAGE']}")
    fields = {name[4:].lower(): value for name, value in entry.items() if name.startswith("MRC_")}
    check(fields == {"instance": hosts.instance("a"),
                     **{name: str(value) for name, value in event.items()
                        if name not in NOT_FIELDS and value is not None}}, f"and the fields of mrcctl event: {fields}")


def main():
    need_root()
    need_binaries("mrcd", "mrcctl")
    need_systemd()
    with new_hosts("a", "b") as hosts, tempfile.TemporaryDirectory() as name:
        cabled(hosts)
        hosts.setup("--hosts", "2", "--yes")
        folder, instance = pathlib.Path(name), hosts.instance("a")
        make_root(folder, {"mrcd@.service": unit().replace("/opt/", "/opt/bin/")})
        (folder / "etc/mrc").mkdir()
        (folder / f"etc/mrc/{instance}.toml").write_bytes(hosts.config("a").read_bytes())
        hosts.start_daemon("b")
        build = pathlib.Path(binary("mrcd")).resolve().parents[1]
        with booted(folder, "basic.target", {"/opt": build},
                    lambda *argv: ["nsenter", f"--net=/run/netns/{hosts.netns('a')}", "--", *argv]) as host:
            unit_name = f"mrcd@{instance}.service"
            started = host.run("systemctl", "start", unit_name)
            check(started.returncode == 0, f"the unit starts {started.stderr}"
                  f"{host.run('journalctl', '--no-pager', '--output=cat', '--identifier=mrcd').stdout}")
            lines = entries(host, f"_SYSTEMD_UNIT={unit_name}", "PRIORITY=6")
            check(lines and all(not entry["MESSAGE"].startswith("20") for entry in lines),
                  "lines have their priority, and no time of their own")
            check(wait_until(lambda: planes_in_use(host) == 2, DEADLINE_S), "its planes are in use")
            check_event(host, hosts, unit_name)


if __name__ == "__main__":
    main()
