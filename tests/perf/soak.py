#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Full rate for a while, then the sums: every packet that was sent has arrived or was dropped under a name, the kernel
has its memory back, and the machine is idle."""

import argparse
import contextlib
import json
import os
import pathlib
import re
import select
import statistics
import subprocess
import sys
import time

from path_ledger import counter_snapshot, print_ledger

from lab_support import binary, check, lab, need_binaries, need_root
from transfer_support import server, wait_until

ENGINES = ("xdp", "af_xdp")
FAULTS = ("--loss", "1%", "--corrupt", "0.1%", "--duplicate", "1%")
FAULTY_LINKS = (("p0t0-0", "p0t1-0"), ("p1t1-1", "p1t0-1"))
MEMORY_LIMIT_MB = 256
SAMPLE_S = 0.5
QUIET_LIMIT_S = 30
IDLE_LIMIT_S = 20
IDLE_SHARE = 0.05  # of a core
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PAGE_KB = os.sysconf("SC_PAGESIZE") // 1024
# Memory that /proc/meminfo names. What it does not name are the CPUs' lists of free pages, which grow to gigabytes, and
# pages that drivers and page pools hold.
NAMED = ("MemFree", "Buffers", "Cached", "SwapCached", "Slab", "AnonPages", "PageTables", "KernelStack", "Percpu",
         "VmallocUsed")


def memory_mb():
    """Of the whole machine: pages that nobody names, unreclaimable slab, slab and available memory."""
    text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    kb = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines()}
    zones = pathlib.Path("/proc/zoneinfo").read_text(encoding="ascii")
    free_per_cpu = sum(int(count) for count in re.findall(r"^ +count: +(\d+)$", zones, re.M)) * PAGE_KB
    unnamed = kb["MemTotal"] - sum(kb.get(name, 0) for name in NAMED) - free_per_cpu
    return {name: value / 1024 for name, value in
            (("unnamed pages", unnamed), ("unreclaimable slab", kb["SUnreclaim"]), ("Slab", kb["Slab"]),
             ("MemAvailable", kb["MemAvailable"]))}


def resident_mb(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * PAGE_KB / 1024


class memory_watch:
    """Samples while the transfer runs."""

    def __init__(self, daemons):
        self.daemons = daemons
        self.samples = []
        self.take()

    def take(self):
        sample = memory_mb()
        sample["resident in mrcd"] = sum(resident_mb(pid) for pid in self.daemons)
        self.samples.append(sample)

    def growth(self, name):
        return statistics.median(sample[name] for sample in self.samples[1:]) - self.samples[0][name]

    def report(self):
        first, last = self.samples[0], self.samples[-1]
        print(f"{'memory, MB':22} {'before':>9} {'least':>9} {'median':>9} {'most':>9} {'after':>9}"
              f"   ({len(self.samples)} samples)")
        for name in first:
            values = [sample[name] for sample in self.samples]
            print(f"{name:22} {first[name]:9.1f} {min(values):9.1f} {statistics.median(values):9.1f} "
                  f"{max(values):9.1f} {last[name]:9.1f}")
        # MemAvailable is the whole machine's, whatever else it does; these three are what a transfer can hold. The
        # median, because a compiler next to us moves them by more than a transfer does.
        held = sum(self.growth(name) for name in ("unnamed pages", "unreclaimable slab", "resident in mrcd"))
        check(held < MEMORY_LIMIT_MB, f"memory held grew by {held:.0f} MB of {MEMORY_LIMIT_MB}")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def busiest(pids, seconds):
    """The largest share of a core that one of the processes took while it was observed; none of them may end."""
    with contextlib.ExitStack() as closing:
        ends = select.poll()
        for pid in pids:
            process = os.pidfd_open(pid)
            closing.callback(os.close, process)
            ends.register(process, select.POLLIN)
        begin, before = time.monotonic(), {pid: cpu_seconds(pid) for pid in pids}
        if ends.poll(seconds * 1000):
            sys.exit("FAIL: a daemon ended")
        return max((cpu_seconds(pid) - before[pid]) / (time.monotonic() - begin) for pid in pids)


def check_idle(pids):
    begin = time.monotonic()
    while (share := busiest(pids, 1)) > IDLE_SHARE and time.monotonic() - begin < IDLE_LIMIT_S:
        pass
    check(share <= IDLE_SHARE, f"idle again: the busiest daemon takes {share:.1%} of a core")


def settled(fabric, status):
    """The counters once they stand still."""
    last = None

    def still():
        nonlocal last
        before, last = last, counter_snapshot(fabric.prefix, status)
        return before is not None and last.of_one_time and before.standing() == last.standing()
    check(wait_until(still, QUIET_LIMIT_S), "counters stand still")
    return last


def run_transfer(fabric, seconds, watch):
    """mrc-perf from h0 to h1; returns both reports."""
    target = fabric.host("h1")["mrc_address"]
    with server(fabric, "--once") as (process, said):
        client = subprocess.Popen(["env", f"MRC_INSTANCE={fabric.prefix}-h0", "nsenter",
                                   f"--net=/run/netns/{fabric.prefix}-h0", "--", binary("mrc-perf"), target, "--json",
                                   "-D", str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 2 * seconds + 60
        with contextlib.suppress(KeyboardInterrupt):
            while time.monotonic() < deadline:
                try:
                    client.wait(SAMPLE_S)
                    break
                except subprocess.TimeoutExpired:
                    watch.take()
        client.kill()
        out, complaints = client.communicate()
        check(client.returncode == 0, f"mrc-perf ends well {complaints.decode()}")
        said.next(time.monotonic() + QUIET_LIMIT_S)
        process.wait(QUIET_LIMIT_S)
    return json.loads(out)


def check_ledger(snapshot):
    rows = snapshot.rows()
    print_ledger(rows)
    unexplained = {row.stage: row.unexplained for row in rows if row.unexplained}
    check(not unexplained, f"every packet of {len(rows)} stages is accounted for {unexplained or ''}")


def check_transport(report):
    sender, receiver = report["sender"], report["receiver"]
    print(f"{report['goodput_gbps']:.2f} Gbit/s, longest stall {report['max_stall_us'] / 1000:.0f} ms; "
          f"{sender['tx_packets']} data packets sent, {receiver['rx_packets']} new and {receiver['rx_duplicates']} "
          f"duplicates arrived; {sender['retransmits']} sent again ({sender['spurious']} needlessly, "
          f"{sender['timeouts']} time-outs, {sender['losses']} losses)")
    check(report["status"] == "ok", "the transfer ends well")


def soak(engine, seconds, faults):
    print(f"engine {engine}, {seconds} s{', with faults' if faults else ''}:")
    with lab("soak-" + engine.replace("_", "-"), "--engine", engine) as fabric:
        status = fabric.status()
        for link in FAULTY_LINKS if faults else ():
            fabric.run("impair", *link, *FAULTS)
        before = settled(fabric, status)
        watch = memory_watch([host["pid"] for host in status["hosts"]])
        report = run_transfer(fabric, seconds, watch)
        check_idle([node["pid"] for node in status["hosts"] + status["switches"]])
        watch.take()
        check_transport(report)
        check_ledger(settled(fabric, status).since(before))
        watch.report()


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--engine", choices=ENGINES, action="append", help="default: each")
    options.add_argument("--faults", action="store_true", help="losses, corruption and duplicates on two links")
    chosen = options.parse_args()
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    for engine in chosen.engine or ENGINES:
        soak(engine, chosen.seconds, chosen.faults)


if __name__ == "__main__":
    sys.exit(main())
