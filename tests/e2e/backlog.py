#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The receiving daemon stands still under traffic and goes on: for what has waited in its rings it asks the sender to
slow down, and no path is told of congestion. Where `backlog_mark_us` is 0, it asks for nothing."""

import os
import signal

from lab_support import check, lab, need_binaries, need_root
from pinned_maps import host_maps
from transfer_support import DEADLINE_S, transfer, wait_until

CASES = ((50, True), (0, False))
PAUSES = 2


class pauser:
    """Stops the receiver until the sender misses it, then lets it go on; a few times, then ends the transfer."""

    def __init__(self, fabric, waits_for_penalties):
        self.waits_for_penalties = waits_for_penalties
        self.sender, self.receiver = host_maps(f"{fabric.prefix}-h0"), host_maps(f"{fabric.prefix}-h1")
        self.daemon = fabric.host("h1")["pid"]
        self.pauses = 0
        self.penalties = 0

    def silences(self):
        return sum(row["silences"] for row in self.sender.queue_pairs().values())

    def in_flight(self):
        return any(row["inflight_bytes"] > 0 for row in self.sender.queue_pairs().values())

    def __call__(self, _sample, process):
        if self.pauses == PAUSES:
            return
        before = self.silences()
        os.kill(self.daemon, signal.SIGSTOP)
        try:
            # Where nothing was under way, for the program waited for the far one, there is nothing to be missed.
            wait_until(lambda: self.silences() > before or not self.in_flight(), DEADLINE_S)
        finally:
            os.kill(self.daemon, signal.SIGCONT)
        self.pauses += 1 if self.silences() > before else 0
        if self.pauses == PAUSES:
            self.read_penalties()
            process.send_signal(signal.SIGINT)

    def read_penalties(self):
        """While there is a queue pair: its counters end with it."""
        def asked():
            self.penalties = sum(row["penalties"] for row in self.sender.queue_pairs().values())
            return self.penalties > 0
        wait_until(asked, DEADLINE_S if self.waits_for_penalties else 0)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    for mark, counts in CASES:
        with lab("backlog", "--planes", "2", "--spines", "2",
                 config=f"[transport]\nbacklog_mark_us = {mark}\n") as fabric:
            pause = pauser(fabric, waits_for_penalties=counts)
            client, server, _ = transfer(fabric, "-D", "40", "--verify", on_sample=pause)
            echoes = pause.sender.sum("signals", "ce_echoes")
            print(f"   {mark} us: {client.report['bytes']} bytes, {pause.penalties} answers asked to slow down")
            check(client.status == 130 and not client.complaints, f"no end failed {client.complaints}")
            check(client.report["verified"] is True and server["verified"] is True, "every byte is right")
            check(pause.pauses == PAUSES, f"the receiver stood still {PAUSES} times")
            check(echoes == 0, "no path was told of congestion")
            check((pause.penalties > 0) == counts,
                  f"what waited {'slows' if counts else 'does not slow'} the sender down")


if __name__ == "__main__":
    main()
