#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What holds data up at full rate: every time that nothing arrived at the far host for longer than a limit, with what
the workers did meanwhile, by the kernel's scheduler. Both hosts, all switches and mrc-perf share this machine.

Arrivals are when the sender's worker makes an AF_XDP socket readable: on veth, packets come to the far host in the
sender's calls. Needs root, a kernel of 6.4 or later (tracepoint sock:sk_data_ready) and perf.

usage: stall_causes.py [--seconds N] [--above MS] [--engine xdp|af_xdp] [--cut] [--json]
"""

import argparse
import bisect
import collections
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from lab_support import lab, need_binaries, need_root, skip  # noqa: E402
from transfer_support import run_client, server  # noqa: E402

PLANES = 4
CUT_EVERY, RESTORED_AFTER = 20, 10  # reports of mrc-perf's progress, of which one comes each 50 ms
AF_XDP = 44
EVENT = re.compile(r"\s*(\d+)\s+\[(\d+)\]\s+([\d.]+): (\S+): (.*)")
SWITCH = re.compile(r"prev_comm=.* prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) ")
WOKEN = re.compile(r"\bpid=(\d+)")
WORKER = "mrc-worker"


class timeline:
    """What something was, from when on."""

    def __init__(self, what):
        self.since, self.whats = [0.0], [what]

    def becomes(self, at, what):
        self.since.append(at)
        self.whats.append(what)

    def shares(self, begin, end):
        """Seconds of each, between two times."""
        found = collections.Counter()
        at = bisect.bisect_right(self.since, begin) - 1
        while at < len(self.since) and self.since[at] < end:
            until = self.since[at + 1] if at + 1 < len(self.since) else end
            found[self.whats[at]] += min(until, end) - max(self.since[at], begin)
            at += 1
        return found


class schedule:
    """Who had the processors, and when packets came."""

    def __init__(self, workers):
        self.sender, self.receiver = workers
        self.workers = {thread: timeline("slept") for thread in workers}
        self.processors = collections.defaultdict(lambda: timeline("idle"))
        self.arrivals = []

    def read(self, lines):
        for thread, processor, at, event, words in (found.groups() for found in map(EVENT.match, lines) if found):
            if event.endswith("sk_data_ready"):
                if int(thread) == self.sender:
                    self.arrivals.append(float(at))
            elif event.endswith("sched_switch"):
                self.switched(float(at), int(processor), *SWITCH.match(words + " ").groups())
            elif (woken := self.workers.get(int(WOKEN.search(words)[1]))) and woken.whats[-1] == "slept":
                woken.becomes(float(at), "waited")

    def switched(self, at, processor, before, state, name, after):
        self.processors[processor].becomes(at, "idle" if after == "0" else name)
        if leaving := self.workers.get(int(before)):
            leaving.becomes(at, "waited" if state.startswith("R") else "slept")
        if coming := self.workers.get(int(after)):
            coming.becomes(at, "ran")

    def gaps(self, least_s):
        return [(begin, end) for begin, end in zip(self.arrivals, self.arrivals[1:]) if end - begin >= least_s]

    def mostly(self, worker, gap):
        return self.workers[worker].shares(*gap).most_common(1)[0][0]

    def others(self, gap):
        """The thread that had most of the processors, of those that are no worker."""
        had = sum((processor.shares(*gap) for processor in self.processors.values()), collections.Counter())
        return next((name for name, _ in had.most_common() if name not in ("idle", WORKER)), "nobody")

    def cause(self, gap):
        for worker, whose in ((self.sender, "sender's"), (self.receiver, "receiver's")):
            did = self.mostly(worker, gap)
            if did == "waited":
                idle = sum(one.shares(*gap)["idle"] for one in self.processors.values()) > (gap[1] - gap[0]) / 2
                return f"the {whose} worker waited for a processor{', another being idle' if idle else ''}"
            if did == "ran":
                return f"the {whose} worker had its processor throughout"
        return "both workers slept"


def worker_of(fabric, host):
    pid = fabric.host(host)["pid"]
    return next(int(thread.name) for thread in pathlib.Path(f"/proc/{pid}/task").iterdir()
                if (thread / "comm").read_text("ascii").strip() == WORKER)


def record(fabric, seconds, cut, folder):
    """The schedule of a transfer that takes so many seconds, and the client's report."""
    data = f"{folder}/perf.data"
    command = ["perf", "record", "-q", "-a", "-m", "4096", "-e", "sched:sched_switch", "-e", "sched:sched_wakeup", "-e",
               "sock:sk_data_ready", "--filter", f"family=={AF_XDP}", "-o", data]
    recording, reports = [], itertools.count()

    def look(sample, _process):
        if not sample["bytes"]:
            return
        if not recording:
            recording.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        elif cut and recording[0].poll() is None:
            state = {0: "down", RESTORED_AFTER: "up"}.get(next(reports) % CUT_EVERY)
            if state:
                fabric.run("plane", "1", state)

    workers = [worker_of(fabric, host) for host in ("h0", "h1")]
    with server(fabric, "--once"):
        client = run_client(fabric, "-s", "1M", "-D", str(seconds), on_sample=look)
    if client.status != 0 or not recording:
        sys.exit(f"FAIL: mrc-perf: {' '.join(client.complaints)}")
    recording[0].send_signal(signal.SIGINT)
    complaints = recording[0].communicate()[1]
    if recording[0].returncode not in (0, -signal.SIGINT):
        sys.exit(f"FAIL: perf record: {complaints.strip()}")
    found = schedule(workers)
    with subprocess.Popen(["perf", "script", "-i", data, "-F", "tid,cpu,time,event,trace", "--ns"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as script:
        found.read(script.stdout)
    return found, client.report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=20, help="to send for (20)")
    parser.add_argument("--above", type=float, default=2, metavar="MS", help="gaps of this length and more (2)")
    parser.add_argument("--engine", default="xdp", choices=("xdp", "af_xdp"))
    parser.add_argument("--cut", action="store_true", help="cut a plane and restore it, again and again")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    if not shutil.which("perf"):
        skip("perf is not installed")
    if not os.path.exists("/sys/kernel/tracing/events/sock/sk_data_ready"):
        skip("this kernel has no tracepoint sock:sk_data_ready, or tracefs is not mounted")
    with tempfile.TemporaryDirectory() as folder, lab("stalls", "--planes", str(PLANES), "--engine",
                                                      options.engine) as fabric:
        found, report = record(fabric, options.seconds, options.cut, folder)
    gaps = [{"ms": 1e3 * (gap[1] - gap[0]), "cause": found.cause(gap), "busiest_other": found.others(gap)}
            for gap in sorted(found.gaps(options.above / 1e3), key=lambda gap: gap[0] - gap[1])]
    causes = collections.Counter(gap["cause"] for gap in gaps)
    if options.json:
        print(json.dumps({"seconds": options.seconds, "arrivals": len(found.arrivals), "gaps": gaps, "causes": causes,
                          "gbps": report["goodput_gbps"], "retransmits": report["retransmits"]}))
        return
    for gap in gaps:
        print(f"{gap['ms']:8.2f} ms  {gap['cause']} ({gap['busiest_other']})")
    print(f"{len(found.arrivals)} arrivals in {options.seconds} s, {report['goodput_gbps']:.2f} Gbit/s; nothing for "
          f"{options.above:g} ms and more {len(gaps)} times")
    for cause, count in causes.most_common():
        print(f"{count:5} {cause}")


if __name__ == "__main__":
    main()
