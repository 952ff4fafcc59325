#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The receiving daemon stands still under traffic and goes on: what has waited in its rings counts as congestion
experienced, and the sender hears of it, though no switch marks. Where `backlog_mark_us` is 0, nothing counts."""

import os
import pathlib
import signal
import tempfile

from lab_support import check, lab, need_binaries, need_root
from pinned_maps import host_maps
from transfer_support import transfer

CASES = ((50, True), (0, False))
PAUSES = 5


class pauser:
    """Stops the receiver until the sender sends no more, then lets it go on; a few times, then ends the transfer."""

    def __init__(self, fabric):
        self.sender, self.receiver = host_maps(f"{fabric.prefix}-h0"), host_maps(f"{fabric.prefix}-h1")
        self.daemon = next(host["pid"] for host in fabric.status()["hosts"] if host["name"] == "h1")
        self.pauses, self.stopped, self.sent = 0, False, -1

    def __call__(self, sample, process):
        sent = self.sender.sum("paths", "tx_packets")
        if not self.stopped and self.pauses == PAUSES:
            process.send_signal(signal.SIGINT)
        elif not self.stopped and sent != self.sent:
            os.kill(self.daemon, signal.SIGSTOP)
            self.stopped = True
        elif self.stopped and sample["bytes"] == 0:
            self.go_on()
            self.pauses += 1
        self.sent = sent

    def go_on(self):
        os.kill(self.daemon, signal.SIGCONT)
        self.stopped = False


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    for mark, counts in CASES:
        with tempfile.TemporaryDirectory() as directory:
            config = pathlib.Path(directory) / "transport"
            config.write_text(f"[transport]\nbacklog_mark_us = {mark}\n", encoding="utf-8")
            with lab("backlog", "--planes", "2", "--spines", "2", "--mrcd-config", str(config)) as fabric:
                pause = pauser(fabric)
                try:
                    client, server, _ = transfer(fabric, "-D", "40", "--verify", on_sample=pause)
                finally:
                    pause.go_on()
                echoes = pause.sender.sum("paths", "congestion_echoes")
                marked = pause.receiver.sum("paths", "rx_congested")
                print(f"   {mark} us: {client.report['bytes']} bytes, {echoes} answers told of congestion")
                check(pause.pauses == PAUSES, f"the receiver stood still {PAUSES} times")
                check(client.status == 130 and not client.complaints, f"no end failed {client.complaints}")
                check(client.report["verified"] is True and server["verified"] is True, "every byte is right")
                check(marked == 0, "no switch has marked")
                check((echoes > 0) == counts, "what waited counts as congestion experienced" if counts else "none counts")


if __name__ == "__main__":
    main()
