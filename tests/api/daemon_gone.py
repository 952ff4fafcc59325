#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcd is killed under traffic: no program stays attached, its client knows within a second and has its requests back,
and opens anew at the next daemon (tests/api/daemon_gone.c)."""

import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_support import DEADLINE_S, TIME_SCALE, binary, check, lab, left_behind, need_binaries, need_root

TOLD_S = 1 * TIME_SCALE  # what the service promises; on a machine that is slow as a whole, the client is slow, too


class conversation:
    """With the program: it says a stage, and goes on when it is answered."""

    def __init__(self, fabric, program):
        environment = {**os.environ, "MRC_INSTANCE": f"{fabric.prefix}-h0,{fabric.prefix}-h1"}
        self.process = subprocess.Popen([binary(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)

    def hear(self, stage):
        ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE_S)
        check(ready and self.process.stdout.readline().strip() == stage, f"the client says: {stage}")

    def answer(self):
        self.process.stdin.write("go on\n")
        self.process.stdin.flush()


def kill_daemon(host):
    """When it was killed, and what it was started as."""
    argv = pathlib.Path(f"/proc/{host['pid']}/cmdline").read_text(encoding="utf-8").split("\0")[:-1]
    process = os.pidfd_open(host["pid"])
    killed = time.monotonic()
    signal.pidfd_send_signal(process, signal.SIGKILL)
    check(select.select([process], [], [], DEADLINE_S)[0], "mrcd is killed")
    os.close(process)
    return killed, argv


def attached_programs(fabric, node):
    links = json.loads(fabric.inside(node, "ip", "-details", "-json", "link"))
    return [link["ifname"] for link in links if "xdp" in link]


def start_daemon(fabric, argv):
    """The next one, for which the lab's end is responsible as for the first."""
    daemon = subprocess.Popen(fabric.enter("h0", *argv), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in daemon.stdout:
        if line.startswith("READY"):
            return daemon
    return check(False, f"mrcd starts again: it ended with status {daemon.wait()}")


def lose_and_return(program):
    with lab("daemon-gone", "--planes", "2", "--spines", "2") as fabric:
        check(attached_programs(fabric, "h0"), "h0's uplinks have their programs")
        host = fabric.status()["hosts"][0]  # now: the client is busy for a fraction of a second
        client = conversation(fabric, program)
        try:
            client.hear("busy")
            killed, argv = kill_daemon(host)
            client.answer()
            client.hear("notified")
            check(time.monotonic() - killed < TOLD_S, f"within {TOLD_S} s: {time.monotonic() - killed:.3f} s")
            check(attached_programs(fabric, "h0") == [], "no program stays attached")
            client.answer()
            client.hear("closed")
            daemon = start_daemon(fabric, argv)
            client.answer()
            client.hear("anew")
            check(client.process.wait(DEADLINE_S) == 0, f"{program} succeeds")
            check(daemon.poll() is None, "the next mrcd lives on")
        finally:
            client.process.kill()
            client.process.wait()
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


def main():
    need_root()
    program = sys.argv[1]
    need_binaries("mrcd", "mrc-switch", program)
    lose_and_return(program)


if __name__ == "__main__":
    main()
