# SPDX-License-Identifier: Apache-2.0
"""Windows of half a second of a transfer at full rate, in which a plane dies or nothing happens: the longest stall of
each, and what may have caused it."""

import pathlib
import signal
import statistics
import sys
import time

from lab import changes
from transfer_support import DEADLINE_S, run_client

from . import labs
from .foreign_load import TICKS
from .programs import far_end, figures
from .progress import note

SECONDS = 0.5
WINDOWS = 20  # of a run
PLANE = 1
MOST_SECONDS = round(WINDOWS * SECONDS + 2 * DEADLINE_S)
INTERRUPTED = 130  # exit status of mrc-perf
WORKER = "mrc-worker"
SOFTIRQ = 7  # column of /proc/stat
CAUSES = {"sender_waited_ms": "sender's workers without a CPU, ms",
          "receiver_waited_ms": "receiver's workers without a CPU, ms", "softirq_ms": "softirq of all CPUs, ms",
          "retransmits": "packets sent again"}
WORST = 5  # told of each row


def run_delay_ms(pid):
    """How long the workers of an mrcd were ready and had no CPU."""
    workers = [task for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
               if (task / "comm").read_text("ascii").startswith(WORKER)]
    return sum(int((task / "schedstat").read_text("ascii").split()[1]) for task in workers) / 1e6


def softirq_ms():
    """Of all CPUs together, to the tick."""
    first = pathlib.Path("/proc/stat").read_text("ascii").split("\n", 1)[0]
    return int(first.split()[SOFTIRQ]) * 1e3 / TICKS


class windows:
    """Makes windows out of a transfer's reports; mrc-perf's marks begin and end them."""

    def __init__(self, fabric, cut):
        self.fabric, self.cut = fabric, cut
        self.pids = [fabric.host(name)["pid"] for name in ("h0", "h1")]
        self.found, self.phases, self.before, self.until = [], 0, None, None

    def set_plane(self, is_up):
        """The sender's link on a plane, without another interpreter: that would take its time from what is measured."""
        if self.cut:
            changes.set_link(self.fabric.prefix, "h0", f"p{PLANE}t0-{self.fabric.host('h0')['leaf']}", is_up, False)

    def counters(self, sample):
        sender, receiver = map(run_delay_ms, self.pids)
        return {"sender_waited_ms": sender, "receiver_waited_ms": receiver, "softirq_ms": softirq_ms(),
                "retransmits": sample["retransmits"]}

    def mark(self, process):
        process.send_signal(signal.SIGUSR1)
        self.phases += 1

    def __call__(self, sample, process):
        """on_sample of run_client."""
        if not sample["bytes"] or sample["phase"] != self.phases or len(self.found) == WINDOWS:
            return  # a mark is still under way
        if self.before is None and self.whole(sample):
            self.before, self.until = self.counters(sample), time.monotonic() + SECONDS
            self.mark(process)
            self.set_plane(False)
        elif self.before is not None and time.monotonic() >= self.until and not self.comes_by_cut_plane(sample):
            after = self.counters(sample)
            self.mark(process)
            self.set_plane(True)
            self.found.append({name: after[name] - value for name, value in self.before.items()})
            self.before = None
            note(f"window {len(self.found)} of {WINDOWS}: {sample['max_stall_us'] / 1e3:.3g} ms; " +
                 ", ".join(f"{what} {self.found[-1][name]:.3g}" for name, what in CAUSES.items()))
            if len(self.found) == WINDOWS:
                process.send_signal(signal.SIGINT)

    def comes_by_cut_plane(self, sample):
        return self.cut and sample["plane_rx_packets"][PLANE] > 0

    @staticmethod
    def whole(sample):
        """All planes are in use."""
        return sample["paths_assumed_bad"] == 0 and all(sample["plane_rx_packets"][:labs.PLANES])

    def with_stalls(self, phases):
        """The windows, each with its longest stall: every other phase, the last being what followed."""
        if len(phases) != 2 * WINDOWS + 1:
            sys.exit(f"FAIL: mrc-perf: {len(phases)} phases after {len(self.found)} windows of {WINDOWS}")
        return [{"max_stall_us": phase["max_stall_us"], "ms": phase["to_ms"] - phase["from_ms"]} | window
                for phase, window in zip(phases[1::2], self.found)]


def stalls(cut):
    """A run of WINDOWS windows, whatever --seconds."""
    def run(at, _seconds):
        watch = windows(at.fabric, cut)
        try:
            with far_end(at.fabric):
                client = run_client(at.fabric, "-D", str(MOST_SECONDS), on_sample=watch, limit_s=MOST_SECONDS)
        finally:
            watch.set_plane(True)
        if client.status != INTERRUPTED:
            sys.exit(f"FAIL: mrc-perf: status {client.status}: {' '.join(client.complaints)}")
        found = watch.with_stalls(client.report["phases"])
        longest = [window["max_stall_us"] for window in found]
        return figures(client.report) | {"stall_us": statistics.median(longest), "max_stall_us": max(longest),
                                         "windows": found}
    return run


def line(words, window):
    return "| " + " | ".join([*words, f"{window['max_stall_us'] / 1e3:.3g}",
                              *(f"{window[name]:.3g}" for name in CAUSES)]) + " |"


def tables(rows):
    """Lines of Markdown: of the windows of all runs of a row, the median of each figure, and the worst windows."""
    lines = []
    for row in rows:
        found = [window for run in row["runs"] for window in run.get("windows", ())]
        if found:
            worst = sorted(found, key=lambda window: -window["max_stall_us"])[:WORST]
            median = {name: statistics.median(window[name] for window in found) for name in found[0]}
            lines += [line((row["name"], f"median of {len(found)}"), median),
                      *(line((row["name"], "worst" if not number else f"{number + 1}."), window)
                        for number, window in enumerate(worst))]
    head = ["what", "window", "longest stall, ms", *CAUSES.values()]
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *lines, ""] if lines else []
