#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One command from nothing to a peer that answers: `mrcctl setup --start` on a host with a real systemd writes the
configuration, has the unit enabled and started, probes the peers by every plane and says what to type next; on
switches that shift uSIDs, and on cables."""

import contextlib
import json
import pathlib
import signal
import sys
import tempfile

from systemd_machine import booted, make_root, need_systemd
from unit_start import unit

from lab_support import DEADLINE_S, binary, check, need_binaries, need_root
from setup_srv6 import PLANES, hosts_on
from setup_support import cabled, new_hosts

MRCCTL = ("env", "LD_LIBRARY_PATH=/opt/lib", "/opt/bin/mrcctl")


@contextlib.contextmanager
def machine_in(netns):
    """A host whose programs are the tree's, in this network."""
    build = pathlib.Path(binary("mrcd")).resolve().parents[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_root(folder, {"mrcd@.service": unit().replace("/opt/", "/opt/bin/")})
        with booted(folder, "basic.target", {"/opt": build},
                    lambda *argv: ["nsenter", f"--net=/run/netns/{netns}", "--", *argv]) as machine:
            yield machine


def ended(process, status):
    out, err = process.communicate(timeout=3 * DEADLINE_S)
    check(process.returncode == status, f"mrcctl setup --start ends with {status} {out if status == 0 else ''}{err}")
    return out


def check_started(machine, instance, view, peer, ports):
    """What one command said, and did."""
    check(view["written"] and view["started"] and view["file"] == f"/etc/mrc/{instance}.toml",
          f"{view['file']} is written, and the daemon started")
    shown = [machine.run("systemctl", question, f"mrcd@{instance}").stdout.strip()
             for question in ("is-active", "is-enabled")]
    check(shown == ["active", "enabled"], f"the unit is {' and '.join(shown)}")
    rows = view["probe"]["planes"]
    check([(row["peer"], row["port"], row["speed_bps"], row["answered"] == row["sent"] > 0, row["rtt_ns"] > 0)
           for row in rows] == [(peer, port, 10**10, True, True) for port in ports],
          f"by plane: rate, answers and round trip of {peer}")
    check(not view["probe"]["troubles"] and view["next"] == f"mrc-perf on {peer}, then mrc-perf {peer} here",
          f"then: {view['next']}")


def stop(machine, instance):
    done = machine.run("systemctl", "stop", f"mrcd@{instance}")
    check(done.returncode == 0, f"the unit is stopped {done.stderr}")


def srv6():
    with hosts_on("kernel") as hosts:
        address = hosts.found("h3", "--yes")["address"]
        hosts.start_daemon("h3")
        instance = hosts.instance("h0")
        with machine_in(f"{hosts.fabric.prefix}-h0") as machine:
            command = (*MRCCTL, "--instance", instance, "setup", "--srv6", "--yes", "--start")
            view = json.loads(ended(machine.start(*command, "--peer", address, "--json"), 0))
            check_started(machine, instance, view, address, [f"p{plane}" for plane in range(PLANES)])
            again = (*command, "--force", "--peer", address)
            said = machine.run(*again)
            words = f"end what runs there, an mrcd by systemctl stop mrcd@{instance}"
            check(said.returncode == 1 and words in said.stderr,
                  f"beside a daemon no loop comes back: {said.stderr.splitlines()[-1:]}")
            stop(machine, instance)
            text = ended(machine.start(*again), 0)
            print(text)
            check(f"Next: mrc-perf on {address}" in text and "ROUND TRIP" in text, "again, in words")
            stop(machine, instance)
            silent = hosts.fabric.host("h1")["mrc_address"]
            text = ended(machine.start(*again, "--peer", silent, "--wait", "1"), 1)
            check(f"{silent} does not answer on planes 0, 1, 2: is it set up" in text and
                  f"Next: mend what is named, then mrcctl setup --probe --instance {instance} --peer {address} "
                  f"--peer {silent}" in text,
                  f"and who does not answer: {text}")


def cables():
    with new_hosts("a", "b") as hosts:
        cabled(hosts)
        instance = hosts.instance("a")
        with machine_in(hosts.netns("a")) as machine:
            command = machine.start(*MRCCTL, "--instance", instance, "setup", "--hosts", "2", "--yes", "--start",
                                    "--json")
            hosts.setup("--hosts", "2", "--yes", names=["b"])
            hosts.start_daemon("b")
            check_started(machine, instance, json.loads(ended(command, 0)), "b", ["eth0", "eth1"])


CASES = {each.__name__: each for each in (srv6, cables)}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: setup_start.py CASE; cases: {', '.join(CASES)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("FAIL: terminated"))
    need_root()
    need_binaries("mrcctl", "mrcd", "mrc-switch")
    need_systemd()
    CASES[sys.argv[1]]()


if __name__ == "__main__":
    main()
