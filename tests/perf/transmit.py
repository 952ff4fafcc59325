#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Small messages, short messages in numbers, one message at a time and full rate over a lab of four planes, by each
transmit engine, and by the binaries of other builds, in turns, so that ratios hold when the machine's speed drifts.
Prints a table: median, and in brackets minimum and maximum.

usage: transmit.py [--rounds N] [--seconds S] [--build NAME=DIRECTORY[:RING_PACKETS]]... [--engine xdp|af_xdp]...
                   [--memory shared|process]

A build's directory is the one of its binaries; without any: $MRC_BIN, or build/bin. RING_PACKETS is mrcd's
transmit.ring_packets. Memory is what mrc-perf allocates, shared with mrcd or the process's own.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_support import binary, lab, need_binaries, need_root  # noqa: E402
from transfer_support import server  # noqa: E402

FAR_END = "fd6d:7263::1:1"
RUNS = {  # name: arguments of mrc-perf, unit, what of its report
    "8 bytes, half round trip, p50": (("--lat",), "us", lambda report: report["lat_us"]["p50"]),
    "8 bytes, half round trip, p99": (None, "us", lambda report: report["lat_us"]["p99"]),
    "8 bytes, processor time of both mrcd": (None, "us", lambda report: 1e6 * report["cpu_s"] / report["messages"]),
    "64 bytes, window 256": (("-s", "64", "--window", "256"), "M/s", lambda report: report["msg_rate_mps"]),
    "64 bytes, processor time of both mrcd": (None, "us", lambda report: 1e6 * report["cpu_s"] / report["messages"]),
    "64 KB, window 1": (("-s", "64K", "--window", "1"), "Gbit/s", lambda report: report["goodput_gbps"]),
    "64 KB, processor time of both mrcd": (None, "us", lambda report: 1e6 * report["cpu_s"] / report["messages"]),
    "1 MB": (("-s", "1M"), "Gbit/s", lambda report: report["goodput_gbps"]),
    "1 MB, processor time of both mrcd": (None, "us", lambda report: 1e6 * report["cpu_s"] / report["messages"]),
}


def cpu_seconds(fabric):
    """Of both mrcd. Unlike rates, it says the same beside other programs."""
    total = 0
    for host in ("h0", "h1"):
        fields = pathlib.Path(f"/proc/{fabric.host(host)['pid']}/stat").read_text("ascii").rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def run(fabric, arguments, seconds):
    before = cpu_seconds(fabric)
    client = [*fabric.enter("h0", "env", f"MRC_INSTANCE={fabric.prefix}-h0", binary("mrc-perf")), FAR_END]
    done = subprocess.run([*client, *arguments, "-D", str(seconds), "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"FAIL: mrc-perf {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout) | {"cpu_s": cpu_seconds(fabric) - before}


@contextlib.contextmanager
def binaries_of(directory):
    before = os.environ.get("MRC_BIN")
    os.environ["MRC_BIN"] = directory
    try:
        yield
    finally:
        os.environ.pop("MRC_BIN")
        if before is not None:
            os.environ["MRC_BIN"] = before


def one_round(variant, seconds, memory):
    """The values of all runs, by name. In a lab that has the machine's XDP dispatcher to itself: with several, calls
    may have to wait for it (tests/e2e/xdp_dispatcher.py)."""
    directory, ring_packets, engine = variant
    config = f"[transmit]\nring_packets = {ring_packets}\n" if ring_packets else ""
    values, report = {}, None
    with binaries_of(directory), lab("txp", "--engine", engine, config=config) as fabric, server(fabric):
        for name, (arguments, _, value_of) in RUNS.items():
            if arguments is not None:
                report = run(fabric, (*arguments, "--memory", memory), seconds)
            values[name] = value_of(report)
    return values


def print_table(results):
    print("| | " + " | ".join(results) + " |")
    print("|---" * (len(results) + 1) + "|")
    for name, (_, unit, _) in RUNS.items():
        cells = []
        for rounds in results.values():
            values = [values[name] for values in rounds]
            digits = 1 if unit == "us" else 3 if unit == "M/s" else 2
            least, middle, most = min(values), statistics.median(values), max(values)
            cells.append(f"{middle:.{digits}f} ({least:.{digits}f} to {most:.{digits}f})")
        print(f"| {name}, {unit} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="of each run")
    parser.add_argument("--build", action="append", metavar="NAME=DIRECTORY[:RING_PACKETS]")
    parser.add_argument("--engine", choices=("auto", "xdp", "af_xdp"), action="append")
    parser.add_argument("--memory", choices=("shared", "process"), default="shared")
    arguments = parser.parse_args()
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    builds = [build.split("=", 1) for build in arguments.build or [f"this={os.path.dirname(binary('mrcd'))}"]]
    variants = {f"{name}, {engine}": (*where.partition(":")[::2], engine)
                for name, where in builds for engine in arguments.engine or ("xdp", "af_xdp")}
    results = {name: [] for name in variants}
    for number in range(arguments.rounds):
        for name, variant in variants.items():
            results[name].append(one_round(variant, arguments.seconds, arguments.memory))
            print(f"  {number} {name}: " + ", ".join(f"{value:.3g}" for value in results[name][-1].values()),
                  file=sys.stderr, flush=True)
    print_table(results)


if __name__ == "__main__":
    main()
