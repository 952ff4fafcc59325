#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plane that dies and returns while the queue pairs to two hosts of a leaf have nothing to send: its paths' states
follow, by heartbeats. When the link of one of these hosts dies, its neighbour keeps the paths. Stopped programs stand
for programs that compute."""

import contextlib
import json
import signal
import time

from lab_support import DEADLINE_S, check, lab, need_binaries, need_root
from pinned_maps import ASSUMED_BAD, GOOD, host_maps
from plane_walk import CUT_PLANE, cut_and_restore
from transfer_support import lines_of, run_client, server, start_perf, wait_until

SPINES = 2
QUIET_NS = 2_000_000_000  # twice as long as sockets have heartbeats after their last packet


class cut_while_idle(cut_and_restore):
    def __init__(self, fabric, neighbour, programs):
        super().__init__(fabric)
        self.neighbour, self.programs, self.sent, self.sent_ns = neighbour, programs, [], 0

    def cut(self, process):
        for program in (process, *self.programs):
            program.send_signal(signal.SIGSTOP)
        self.sockets("add")
        check(wait_until(self.is_quiet, DEADLINE_S, 0.1), "all programs stop, and nothing is sent any more")
        sent = self.queue_pairs("tx_bytes")
        self.spines("down")
        self.wait_for(ASSUMED_BAD, f"the spines of plane {CUT_PLANE} die, which no port shows: its paths are left")
        self.spines("up")
        self.wait_for(GOOD, "they live again, and the paths are good")
        self.lose_link()
        check(self.queue_pairs("tx_bytes") == sent, "all the while nothing is sent")
        self.steps.pop(0)  # restored already
        self.sockets("del")
        for program in (process, *self.programs):
            program.send_signal(signal.SIGCONT)

    def lose_link(self):
        """Of h1 alone, silently. Its neighbour answers on the plane's paths, and h1 on its other plane."""
        link = ("impair", "h1", f"p{CUT_PLANE}t0-{self.fabric.host('h1')['leaf']}")
        check(wait_until(lambda: "in use again" in "".join(self.said_of_paths()[-1:]), DEADLINE_S, 0.1),
              "the log says that the paths are in use")
        known = len(self.said_of_paths())
        self.fabric.run(*link, "--loss", "100%")
        for change in ("out of use, packets reach it on other planes only", "in use again, packets reach it there"):
            check(wait_until(lambda: self.has_logged(change), DEADLINE_S, 0.1), f"h1's plane {CUT_PLANE} is {change}")
            self.fabric.run(*link, "--clear")
        check(len(self.said_of_paths()) == known and self.sender.states(self.paths) == {GOOD},
              "all the while its paths are good")

    def has_logged(self, change):
        line = f"peer {self.fabric.host('h1')['mrc_address']}: plane {CUT_PLANE} is {change}"
        return line in self.fabric.log_lines("h0", "info")

    def said_of_paths(self):
        return [line for line in self.fabric.log_lines("h0", "info") if line.startswith(f"plane {CUT_PLANE} ")]

    def sockets(self, verb):
        """Keeps what TCP still has to say, on mrc-perf's own connection, from the overlay: it has heartbeats, too."""
        for here, there in (("h0", "h1"), ("h1", "h0"), ("h0", self.neighbour), (self.neighbour, "h0")):
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
        return [row[field] for row in self.sender.queue_pairs().values()]


@contextlib.contextmanager
def transfer_to(fabric, host):
    """A transfer from h0 to this host, under way; its programs."""
    receiver = start_perf(fabric, host, "--once", "--json")
    try:
        check(lines_of(receiver.stdout).next(time.monotonic() + DEADLINE_S).startswith("LISTENING"), f"{host} listens")
        sender = start_perf(fabric, "h0", fabric.host(host)["mrc_address"], "--json", "-D", "60")
        try:
            arrived = host_maps(f"{fabric.prefix}-{host}")
            check(wait_until(lambda: any(row["rx_packets"] for row in arrived.queue_pairs().values()), DEADLINE_S, 0.1),
                  f"h0 sends to {host}")
            yield receiver, sender
        finally:
            sender.kill()
            sender.communicate()
    finally:
        receiver.kill()
        receiver.communicate()


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    with contextlib.ExitStack() as stack:
        fabric = stack.enter_context(lab("idle", "--planes", "2", "--spines", str(SPINES), "--hosts", "4"))
        neighbour = next(name for name in ("h2", "h3") if fabric.host(name)["leaf"] == fabric.host("h1")["leaf"])
        others = stack.enter_context(transfer_to(fabric, neighbour))
        process, said = stack.enter_context(server(fabric, "--once"))
        walk = cut_while_idle(fabric, neighbour, (process, *others))
        client = run_client(fabric, "-D", "60", "--verify", on_sample=walk)
        report = json.loads(said.next(time.monotonic() + DEADLINE_S))
        check(not walk.steps and report["verified"] is True, f"and the transfer goes on to its end {client.complaints}")


if __name__ == "__main__":
    main()
