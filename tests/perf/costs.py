#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a packet and a message cost in counts that stand still from run to run: instructions of the protocol core,
system calls and allocations of the workers of two hosts, and of one with itself, and what is sent twice where nothing
is lost; by AF_XDP, too, and with two workers each. Fails where one is above its bound in budgets.toml.

usage: costs.py [--part core|lab]
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_support import binary, lab, need_binaries, need_root, skip  # noqa: E402
from transfer_support import server, start_perf  # noqa: E402
from uprobe_counter import UPROBES, uprobe_counter  # noqa: E402

BUDGETS = pathlib.Path(__file__).with_name("budgets.toml")
CORE = {"1 queue pair": "both/nscc:1/qps:1/busy:1/", "1 queue pair, fixed window": "both/nscc:0/qps:1/busy:1/",
        "10 of 10,000 queue pairs": "both/nscc:1/qps:10000/busy:10/"}
FEW, MANY = 100, 400  # round trips of two runs, whose difference is without the start
FAR_END = "fd6d:7263::1:1"
# Arguments of mrc-perf, and whether counts are per message or per packet.
LAB = {"8 bytes, one at a time": (["-s", "8", "--window", "1", "-n", "4000"], "messages"),
       "8 bytes, 256 at a time": (["-s", "8", "--window", "256", "-n", "100000"], "messages"),
       "1 MB, shared memory": (["-s", "1M", "-n", "300"], "packets"),
       "1 MB, the program's own memory": (["-s", "1M", "-n", "200", "--memory", "process"], "packets")}
# Some of these in labs of their own: options, and how many workers either mrcd has, which is one elsewhere.
OTHER_LABS = {"by AF_XDP": (["--engine", "af_xdp"], 1), "2 workers": ([], 2)}
OTHER_LAB_CASES = ("8 bytes, one at a time", "1 MB, shared memory")
# The same within one host: one worker is both ends', and packets are the sender's of data.
OWN_HOST = {f"{name}, within the host": LAB[name] for name in (
    "8 bytes, one at a time", "1 MB, shared memory", "1 MB, the program's own memory")}
ALLOCATIONS = ("malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign")  # new is one of them
CALLS = {"system_calls": ["raw_syscalls:sys_enter"], "bpf_calls": ["syscalls:sys_enter_bpf"],
         "yields": ["syscalls:sys_enter_sched_yield"],  # of a worker that spins: no part of system_calls
         "copies": [f"syscalls:sys_enter_{name}" for name in ("pread64", "pwrite64", "preadv", "pwritev",
                                                               "process_vm_readv", "process_vm_writev")]}


def run_core(case, round_trips, folder):
    """Instructions and data packets of one run."""
    out = os.path.join(folder, "callgrind.out")
    done = subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}",
                           binary("mrc-bench-core"), f"--round-trips={round_trips}", f"--benchmark_filter=^{case}",
                           "--benchmark_format=json"], capture_output=True, text=True, check=True)
    with open(out, encoding="ascii") as file:
        instructions = int(re.search(r"^summary: (\d+)", file.read(), re.M)[1])
    return instructions, json.loads(done.stdout)["benchmarks"][0]["packets"]


def measure_core():
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CORE.items():
            few, many = (run_core(case, round_trips, folder) for round_trips in (FEW, MANY))
            yield name, {"instructions": (many[0] - few[0]) / (many[1] - few[1])}


def workers_of(fabric, host):
    """The ids of the threads of the host's mrcd that move packets."""
    tasks = pathlib.Path(f"/proc/{fabric.host(host)['pid']}/task").iterdir()
    found = [task.name for task in tasks if (task / "comm").read_text("ascii").strip() == "mrc-worker"]
    return found or sys.exit(f"FAIL: the mrcd of {host} has no worker")


class call_counter:
    """Counts threads' system calls from start() to stop(), by perf, which says when it begins and has ended; and their
    allocations."""

    def __init__(self, threads, folder):
        self.threads, self.out, self.slept = threads, os.path.join(folder, threads[0]), 0
        self.allocations = uprobe_counter(threads, ALLOCATIONS)
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        events = [word for group in CALLS.values() for event in group for word in ("-e", event)]
        self.perf = subprocess.Popen(["perf", "stat", "-x", ",", "-o", self.out, "-t", ",".join(threads), *events,
                                      "--delay", "-1", f"--control=fd:{commands},{answers}"],
                                     pass_fds=(commands, answers), stderr=subprocess.DEVNULL)  # which events are on
        os.close(commands)
        os.close(answers)

    def _tell(self, command):
        os.write(self.commands, f"{command}\n".encode())
        if not os.read(self.answers, 16).startswith(b"ack"):
            sys.exit("FAIL: perf ended before its time")

    def _sleeps(self):
        statuses = [pathlib.Path(f"/proc/{thread}/status").read_text("ascii") for thread in self.threads]
        return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M)[1]) for status in statuses)

    def start(self):
        self.slept = self._sleeps()
        self.allocations.start()
        self._tell("enable")

    def stop(self):
        """The counts, by the names of CALLS, and how often the threads slept and allocated."""
        self._tell("disable")
        allocations = self.allocations.stop()
        slept = self._sleeps() - self.slept
        self.perf.send_signal(signal.SIGINT)
        self.perf.wait()
        with open(self.out, encoding="ascii") as file:
            counts = {fields[2]: int(fields[0]) for fields in (line.split(",") for line in file) if len(fields) > 2}
        calls = {name: sum(counts[event] for event in group) for name, group in CALLS.items()}
        return {"sleeps": slept, "allocations": allocations, **calls,
                "system_calls": calls["system_calls"] - calls["yields"]}


def transfer(fabric, arguments, folder, workers):
    """What mrc-perf reports of one run from the first of these hosts to h1, and the calls of their workers."""
    with server(fabric):
        counters = {side: call_counter(workers_of(fabric, host), folder) for side, host in workers.items()}
        for counter in counters.values():
            counter.start()
        said, complaints = start_perf(fabric, next(iter(workers.values())), FAR_END, *arguments, "--json").communicate()
        calls = {side: counter.stop() for side, counter in counters.items()}
    if not said:
        sys.exit(f"FAIL: mrc-perf {' '.join(arguments)}: {complaints.decode()}")
    return json.loads(said), calls


def measure_lab():
    cases = [(name, case, {"sender": "h0", "receiver": "h1"}) for name, case in LAB.items()]
    cases += [(name, case, {"worker": "h1"}) for name, case in OWN_HOST.items()]
    yield from measure_cases(cases)
    for lab_name, (options, count) in OTHER_LABS.items():
        yield from measure_cases([(f"{name}, {lab_name}", LAB[name], {"sender": "h0", "receiver": "h1"})
                                  for name in OTHER_LAB_CASES], *options, count=count)


def measure_cases(cases, *options, count=1):
    config = f"[worker]\nworkers = {count}\n"
    with lab("costs", "--planes", "4", *options, config=config) as fabric, tempfile.TemporaryDirectory() as folder:
        for name, (arguments, unit), workers in cases:
            report, calls = transfer(fabric, arguments, folder, workers)
            packets = sum(report["plane_tx_packets"]) or report["sender"]["tx_packets"]
            count = report["messages"] if unit == "messages" else packets
            yield name, {"sent_again": report["retransmits"] / count,
                         **{f"{side}_{what}": number if what == "allocations" else number / count
                            for side, counts in calls.items() for what, number in counts.items()}}


def exceeds(name, measured, budget):
    """Prints a measurement beside its bounds; whether one is exceeded, or names what is not measured."""
    print(name)
    failed = False
    for what, value in measured.items():
        bound = budget.get(what)
        failed |= bound is not None and value > bound
        print(f"  {what:24} {value:10.4g}" + ("" if bound is None else f"   at most {bound:g}") +
              ("   EXCEEDED" if bound is not None and value > bound else ""))
    if unknown := set(budget) - set(measured):
        sys.exit(f"FAIL: {BUDGETS.name}: {name}: {', '.join(sorted(unknown))} is not measured")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--part", choices=("core", "lab"), action="append", help="only this; both by default")
    parts = parser.parse_args().part or ["core", "lab"]
    budgets = tomllib.loads(BUDGETS.read_text("utf-8"))
    for tool, part in (("valgrind", "core"), ("perf", "lab")):
        if part in parts and shutil.which(tool) is None:
            skip(f"{tool} is not installed")
    failed = False
    for part in parts:
        if part == "lab":
            need_root()
            if not os.path.exists(UPROBES):
                skip("this kernel counts no calls of functions (CONFIG_UPROBE_EVENTS)")
        need_binaries(*{"core": ["mrc-bench-core"], "lab": ["mrcd", "mrc-switch", "mrc-perf"]}[part])
        for name, measured in {"core": measure_core, "lab": measure_lab}[part]():
            failed |= exceeds(name, measured, budgets[part].get(name, {}))
    if failed:
        sys.exit(f"FAIL: above the bounds of {BUDGETS}")


if __name__ == "__main__":
    main()
