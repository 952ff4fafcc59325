#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plane dies in one direction while a host only receives: the links that its answers take lose everything, those of
the data nothing. Nobody acknowledges answers. They leave the plane after three rounds of questions (protocol.md §4.4),
and data stays on it."""

import signal

from lab_support import check, lab, need_binaries, need_root
from pinned_maps import host_maps
from transfer_support import transfer

PLANES, SPINES, PLANE = 2, 2, 0
BEFORE, AFTER = 2000, 1000  # answers on the other plane


class watcher:
    """Counts what the receiver sends by planes: answers, and a few questions and heartbeats. Cuts once both carry."""

    def __init__(self, fabric):
        self.fabric = fabric
        self.receiver = host_maps(f"{fabric.prefix}-h1")
        address = fabric.host("h0")["mrc_address"]
        self.paths = [self.receiver.paths_to(address, plane) for plane in range(PLANES)]
        self.first, self.cut, self.since = None, None, None

    def sent(self):
        return [sum(row["tx_packets"] for row in self.receiver.some_rows("paths", numbers).values())
                for numbers in self.paths]

    def since_count(self, start):
        return [now - then for now, then in zip(self.sent(), start)]

    def __call__(self, _sample, process):
        if self.first is None:
            self.first = self.sent()
        elif self.cut is None:
            if min(self.since_count(self.first)) >= BEFORE:
                leaf = f"p{PLANE}t0-{self.fabric.host('h1')['leaf']}"
                for spine in range(SPINES):
                    self.fabric.run("impair", leaf, f"p{PLANE}t1-{spine}", "--loss", "100%", "--one-way")
                self.cut = self.sent()
        elif self.since is None and self.since_count(self.cut)[1 - PLANE] >= AFTER:
            self.since = self.since_count(self.cut)
            process.send_signal(signal.SIGINT)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    with lab("oneway", "--planes", str(PLANES), "--spines", str(SPINES)) as fabric:
        watch = watcher(fabric)
        client, server, _ = transfer(fabric, "-D", "40", "--verify", on_sample=watch)
        report = client.report
        check(watch.cut is not None, f"{BEFORE} answers took each plane before the cut")
        check(watch.since is not None, f"and {AFTER} the other plane after it")
        print(f"   sent by the receiver since the cut: {watch.since}; {report['retransmits']} packets sent again, "
              f"planes {report['plane_rx_packets']}")
        check(watch.since[PLANE] < watch.since[1 - PLANE] / 4, "answers have left the plane")
        check(client.status == 130 and not client.complaints, f"no end failed {client.complaints}")
        check(report["verified"] is True and server["verified"] is True, "every byte is right")
        least, most = min(report["plane_rx_packets"]), max(report["plane_rx_packets"])
        check(least > 0.9 * most, "and the planes carried the same data")


if __name__ == "__main__":
    main()
