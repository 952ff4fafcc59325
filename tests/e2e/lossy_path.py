#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One path of a plane loses a fifth of its packets while bytes flow: it is retired for its losses, a backup of the same
plane takes its place, the plane keeps its share, and every byte arrives. And the link to a host loses 2 %: of its
plane's two paths, which lose alike, none is called good, though one must stay in use."""

import signal
import sys

from lab_support import DEBUG_LOG, check, lab, need_binaries, need_root
from pinned_maps import ASSUMED_BAD, KEPT, host_maps
from transfer_support import transfer

PLANES, SPINES, ACTIVE = 2, 4, 2
PLANE = 0
LOSSY = "packets are lost"
CONFIG = f"{DEBUG_LOG}[transport]\nactive_paths_per_plane = {ACTIVE}\n"
BUSY = 200


class link_watcher:
    """Makes the link to h1 lose packets, and reads how the plane's paths are shown, once a sample."""

    SAMPLES = 40

    def __init__(self, fabric):
        self.fabric, self.sender = fabric, host_maps(f"{fabric.prefix}-h0")
        self.numbers = self.sender.paths_to(fabric.host("h1")["mrc_address"], PLANE)
        self.impaired, self.seen = False, []

    def __call__(self, _sample, process):
        if not self.impaired:
            self.fabric.run("impair", "h1", f"p{PLANE}t0-1", "--loss", "2%")
            self.impaired = True
            return
        states = sorted(row["state"] for row in self.sender.some_rows("paths", self.numbers).values())
        if self.seen or states == [ASSUMED_BAD, KEPT]:
            self.seen.append(states)
        if len(self.seen) == self.SAMPLES:
            process.send_signal(signal.SIGINT)


def lossy_link():
    with lab("lossylink", "--planes", str(PLANES), "--spines", "2") as fabric:
        watch = link_watcher(fabric)
        client, server, _ = transfer(fabric, "-D", "40", "--verify", on_sample=watch)
        both = sum(states == [ASSUMED_BAD, KEPT] for states in watch.seen)
        print(f"   {both} of {len(watch.seen)} samples: one path kept though bad, the other assumed bad")
        check(len(watch.seen) >= watch.SAMPLES, "a lossy link shows on both of its plane's paths")
        # A retired path is tried again now and then, and is good until it has lost again.
        check(both > len(watch.seen) * 3 / 4, "and stays shown while it is lossy")
        check(client.status == 130 and not client.complaints, f"no end failed {client.complaints}")
        check(client.report["verified"] is True and server["verified"] is True, "every byte is right")
        shown = client.report["intervals"]
        counted = {sum(sample[f"paths_{state}"] for state in ("good", "skip", "kept", "assumed_bad", "denied"))
                   for sample in shown}
        check(counted == {PLANES * 2}, f"each of the {PLANES * 2} paths is counted once in each sample ({counted})")
        check(any(sample["paths_kept"] for sample in shown), "mrc-perf shows the kept one, too")


class watcher:
    """Impairs a path that is in use, and stops the client once a backup carries its packets."""

    def __init__(self, fabric):
        self.fabric, self.sender = fabric, host_maps(f"{fabric.prefix}-h0")
        self.numbers = self.sender.paths_to(fabric.host("h1")["mrc_address"], PLANE)
        self.before, self.victim, self.carriers, self.done = None, None, [], False

    def __call__(self, _sample, process):
        rows = self.sender.some_rows("paths", self.numbers)
        counts = {number: row["tx_packets"] for number, row in rows.items()}
        if self.before is None:
            self.before = counts
            return
        busy = [number for number in self.numbers if counts[number] - self.before[number] >= BUSY]
        if self.victim is None and len(busy) == ACTIVE:
            self.carriers, self.victim = busy, busy[0]
            self.fabric.run("impair", "p0t0-0", f"p0t1-{self.numbers.index(self.victim)}", "--loss", "20%",
                            "--one-way")
        elif self.victim is not None and not self.done and set(busy) - set(self.carriers) and \
                (PLANE, LOSSY) in self.fabric.retirements("h0"):  # probes that get through call it good again
            self.done = True
            process.send_signal(signal.SIGINT)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    with lab("lossy", "--planes", str(PLANES), "--spines", str(SPINES), config=CONFIG) as fabric:
        watch = watcher(fabric)
        if len(watch.numbers) != SPINES:
            sys.exit(f"FAIL: {len(watch.numbers)} paths of plane {PLANE}, not {SPINES}")
        client, server, _ = transfer(fabric, "-D", "40", "--verify", on_sample=watch)
        report = client.report
        print(f"   {report['bytes']} bytes, {report['retransmits']} sent again, "
              f"planes {report['plane_rx_packets']}")
        check(watch.victim is not None, f"{ACTIVE} of {SPINES} paths of the plane carried packets")
        check(watch.done, "the lossy one was retired and a backup carries packets")
        check(client.status == 130 and not client.complaints, f"no end failed {client.complaints}")
        check(report["verified"] is True and server["verified"] is True, "every byte is right")
        check(report["retransmits"] > 0, "what was lost was sent again")
        least, most = min(report["plane_rx_packets"]), max(report["plane_rx_packets"])
        check(least > 0.9 * most, "and the planes carried the same")
    lossy_link()


if __name__ == "__main__":
    main()
