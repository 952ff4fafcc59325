#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What mrcd logs when things go out of use and come back: a plane that is cut under a transfer and restored, one line
each; a peer's port; a peer that is silent for a while; at `debug` the paths and sessions, too; and a port that is of no
use at the start."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile

from lab_support import DEADLINE_S, binary, check, lab, log_lines, need_binaries, need_root
from plane_walk import CUT_PLANE, cut_and_restore
from transfer_support import STEADY, transfer, wait_until


def transitions(fabric, host):
    """The lines at `info` since it was ready."""
    lines = fabric.log_lines(host, "info")
    ready = next((number for number, line in enumerate(lines) if line.startswith("clients: ")), len(lines))
    return lines[ready + 1:]


def set_debug(fabric, host):
    config = pathlib.Path(f"/run/mrc-lab/{fabric.prefix}/config/{host}.toml")
    config.write_text(config.read_text("utf-8").replace("[daemon]", '[daemon]\nlog_level = "debug"', 1), "utf-8")
    os.kill(next(each["pid"] for each in fabric.status()["hosts"] if each["name"] == host), signal.SIGHUP)
    check(wait_until(lambda: 'is now "debug"' in fabric.log(host), DEADLINE_S),
          f"{host} logs at debug")


def cut_plane(fabric):
    walk = cut_and_restore(fabric)
    client, server, _ = transfer(fabric, *STEADY, "-D", "60", "--verify", on_sample=walk)
    check(not walk.steps and server["verified"] is True, f"plane {CUT_PLANE} was cut and restored {client.complaints}")
    return walk.paths


def check_plane(fabric):
    paths = cut_plane(fabric)
    name = f"{fabric.plane_to(CUT_PLANE, 'h1')} ({len(paths)} paths): "
    changes = ["out of use", "in use again"]
    reasons = {"nothing gets through, though other paths deliver", "packets are lost", "probes are answered",
               "packets get through"}

    # On a busy machine the sender may leave the plane, or the other one, more than once: each change has its line.
    def logged():
        return [line.removeprefix(name).partition(", ") for line in transitions(fabric, "h0") if line.startswith(name)]

    def kinds():
        return [kind for kind, _, _ in logged()]

    check(wait_until(lambda: kinds()[-1:] == changes[1:], DEADLINE_S), f"the plane is in use again: {logged()}")
    check(kinds() == changes * (len(kinds()) // 2), f"a line for each change, none twice: {logged()}")
    check({reason for _, _, reason in logged()} <= reasons, f"each with its reason: {logged()}")


def check_peer(fabric):
    """Its port. That packets reach it on a plane, or do not, is another matter: what the cut above left of that ends in
    its own time."""
    name = f"peer {fabric.host('h1')['mrc_address']}: its port on plane 1 is "

    def said():
        return [line for line in transitions(fabric, "h0")[before:] if line.startswith(name)]

    before = len(transitions(fabric, "h0"))
    fabric.inside("h1", "ip", "link", "set", "p1", "down")
    check(wait_until(lambda: said() == [name + "out of use, it says"], DEADLINE_S), f"the peer's port: {said()}")
    # The peer says it before it logs it.
    check(wait_until(lambda: "port p1 (plane 1): out of use, down" in transitions(fabric, "h1"), DEADLINE_S),
          "which the peer logs as its own")
    fabric.inside("h1", "ip", "link", "set", "p1", "up")
    check(wait_until(lambda: said()[1:] == [name + "usable, it says"], DEADLINE_S), f"and back: {said()}")


def check_silence(fabric):
    """A peer that stands still for more than a second, under a transfer to it."""
    host = fabric.host("h1")
    name = f"peer {host['mrc_address']}: "
    pid = next(each["pid"] for each in fabric.status()["hosts"] if each["name"] == "h1")
    before = len(transitions(fabric, "h0"))
    seen = []

    def said():
        lines = [line.removeprefix(name) for line in transitions(fabric, "h0")[before:] if line.startswith(name)]
        return [line for line in lines if not line.startswith("plane ")]

    def stop_peer(_event, _process):
        if seen:
            return
        os.kill(pid, signal.SIGSTOP)
        try:
            wait_until(lambda: "silent, nothing comes back on any plane" in said(), DEADLINE_S)
        finally:
            os.kill(pid, signal.SIGCONT)
        seen.extend(said())

    transfer(fabric, "-D", "2", on_sample=stop_peer)
    check(seen == ["silent, nothing comes back on any plane"], f"the peer stands still: {seen}")
    check(wait_until(lambda: said()[1:] == ["heard again"], DEADLINE_S), f"and goes on: {said()}")


def check_debug(fabric):
    set_debug(fabric, "h0")
    cut_plane(fabric)

    def logged(pattern):
        return [line for line in fabric.log_lines("h0", "debug") if re.search(pattern, line)]

    name = fabric.plane_to(CUT_PLANE, "h1")
    for state in ("assumed bad", "good"):
        check(wait_until(lambda: len(logged(rf"^path by uplink \d+ of {name}: {state}")) >= 2,
                         DEADLINE_S), f"debug logs each path that is {state}")
    opened = logged(r"^session \d+: opened by mrc-perf, process \d+ of user 0$")
    check(opened and wait_until(lambda: len(logged(r"^session \d+: closed")) == len(opened), DEADLINE_S),
          f"and sessions: {opened}")


def check_start():
    """A port that is of no use when mrcd starts: a warning with what helps."""
    with lab("start", "--no-daemons", "--planes", "2", "--leaves", "1", "--spines", "1", "--hosts", "1") as fabric:
        fabric.inside("h0", "ip", "link", "set", "p1", "down")
        config = f"/run/mrc-lab/{fabric.prefix}/config/h0.toml"
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen(fabric.enter("h0", binary("mrcd"), "--config", config), stdout=log, stderr=log)
            try:
                check(wait_until(lambda: b"READY" in os.pread(log.fileno(), 1 << 20, 0), DEADLINE_S), "mrcd runs")
                warnings = log_lines(os.pread(log.fileno(), 1 << 20, 0).decode(), "warning")
            finally:
                process.kill()
                process.wait()
        check("port p1 (plane 1): out of use, down: ip link set dev p1 up" in warnings, f"warnings: {warnings}")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    with lab("transitions", "--planes", "2", "--spines", "2") as fabric:
        check_plane(fabric)
        check_peer(fabric)
        check_silence(fabric)
        check_debug(fabric)
    check_start()


if __name__ == "__main__":
    main()
