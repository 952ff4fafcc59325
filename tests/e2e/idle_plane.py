#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plane that dies and returns while the queue pairs to a host have nothing to send: its paths' states follow, by
heartbeats. Stopped programs stand for programs that compute."""

import json
import signal
import time

from lab_support import DEADLINE_S, check, lab, need_binaries, need_root
from pinned_maps import ASSUMED_BAD, GOOD
from plane_walk import CUT_PLANE, cut_and_restore
from transfer_support import run_client, server, wait_until

SPINES = 2
QUIET_NS = 2_000_000_000  # twice as long as sockets have heartbeats after their last packet


class cut_while_idle(cut_and_restore):
    def __init__(self, fabric, server_process):
        super().__init__(fabric)
        self.server, self.sent, self.sent_ns = server_process, [], 0

    def cut(self, process):
        for program in (process, self.server):
            program.send_signal(signal.SIGSTOP)
        self.sockets("add")
        check(wait_until(self.is_quiet, DEADLINE_S, 0.1), "both programs stop, and nothing is sent any more")
        sent = self.queue_pairs("tx_bytes")
        self.spines("down")
        self.wait_for(ASSUMED_BAD, f"the spines of plane {CUT_PLANE} die, which no port shows: its paths are left")
        self.spines("up")
        self.wait_for(GOOD, "they live again, and the paths are good")
        check(self.queue_pairs("tx_bytes") == sent, "all the while nothing is sent")
        self.steps.pop(0)  # restored already
        self.sockets("del")
        for program in (process, self.server):
            program.send_signal(signal.SIGCONT)

    def sockets(self, verb):
        """Keeps what TCP still has to say, on mrc-perf's own connection, from the overlay: it has heartbeats, too."""
        for here, there in (("h0", "h1"), ("h1", "h0")):
            self.fabric.inside(here, "ip", "-6", "route", verb, "blackhole", self.fabric.host(there)["mrc_address"],
                               "metric", "1")

    def spines(self, state):
        for number in range(SPINES):
            self.fabric.run("switch", f"p{CUT_PLANE}t1-{number}", state)

    def is_quiet(self):
        """Neither a queue pair nor a socket has sent for QUIET_NS."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        sent = self.queue_pairs("tx_packets")
        if sent != self.sent:
            self.sent, self.sent_ns = sent, now
        last = max(self.sent_ns, *(row["last_tx_ns"] for row in self.sender.rows("overlay")))
        return now - last > QUIET_NS

    def queue_pairs(self, field):
        return [row[field] for row in self.sender.rows("qps") if row["qpn"]]


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    with lab("idle", "--planes", "2", "--spines", str(SPINES)) as fabric, server(fabric, "--once") as (process, said):
        walk = cut_while_idle(fabric, process)
        client = run_client(fabric, "-D", "60", "--verify", on_sample=walk)
        report = json.loads(said.next(time.monotonic() + DEADLINE_S))
        check(not walk.steps and report["verified"] is True, f"and the transfer goes on to its end {client.complaints}")


if __name__ == "__main__":
    main()
