#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two programs on one host: goodput of one queue pair through mrcd, and half a round trip of 8 bytes, beside one TCP
connection over the same host's loopback (iperf3, sockperf), in turns, so that ratios hold when the machine's speed
drifts. MRC with memory shared with mrcd and with the programs' own. Prints minimum, median and maximum of each, the
median of the ratios, and the load of the machine.

usage: own_host.py [--rounds N] [--seconds S]
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from goodput import FAR_END, in_host, mrc, tcp  # noqa: E402
from lab_support import lab, need_binaries, need_root  # noqa: E402
from transfer_support import run_client, server, wait_until  # noqa: E402

HOST = "h1"
PORT = "11111"


def mrc_latency(fabric, seconds, _, host):
    with server(fabric):
        return run_client(fabric, "--lat", "-s", "8", "-D", str(seconds), host=host).report["lat_us"]["p50"]


def tcp_latency(fabric, seconds, _, host):
    """sockperf prints half round trips, as mrc-perf does. Its shortest message has 14 bytes, and it knows IPv4 only."""
    words = ("--tcp", "--ip", "127.0.0.1", "--port", PORT)
    with subprocess.Popen(in_host(fabric, host, "sockperf", "server", *words), stdout=subprocess.DEVNULL) as far_end:
        try:
            wait_until(lambda: fabric.inside(host, "ss", "-Hltn", f"sport = {PORT}") != "", 10)
            done = subprocess.run(in_host(fabric, host, "sockperf", "ping-pong", *words, "--msg-size", "14", "--time",
                                          str(seconds)), capture_output=True, text=True, check=True)
        finally:
            far_end.kill()
    return float(re.search(r"percentile 50.000 =\s+([\d.]+)", done.stdout)[1])


GOODPUT = {"MRC, shared memory": (mrc, "shared"), "MRC, process memory": (mrc, "process"), "TCP, loopback": (tcp, None)}
LATENCY = {"MRC": (mrc_latency, None), "TCP": (tcp_latency, None)}


def table(title, results, baseline):
    print(f"{title:28} {'min':>7} {'median':>7} {'max':>7}   times TCP")
    for name, values in results.items():
        ratio = statistics.median(mine / theirs for mine, theirs in zip(values, results[baseline]))
        print(f"{name:28} {min(values):7.2f} {statistics.median(values):7.2f} {max(values):7.2f}   {ratio:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="of each run")
    arguments = parser.parse_args()
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    results = [{name: [] for name in runs} for runs in (GOODPUT, LATENCY)]
    loads = []
    with lab("own-host-perf", "--planes", "2") as fabric:
        for _ in range(arguments.rounds):
            for runs, so_far in zip((GOODPUT, LATENCY), results):
                for name, (run, memory) in runs.items():
                    so_far[name].append(run(fabric, arguments.seconds, memory, HOST))
                    print(f"  {name}: {so_far[name][-1]:.2f}", file=sys.stderr)
            loads.append(os.getloadavg()[0])
    table("Gbit/s", results[0], "TCP, loopback")
    table("8 bytes, half round trip, us", results[1], "TCP")
    print(f"load meanwhile: {min(loads):.1f} to {max(loads):.1f}")


if __name__ == "__main__":
    main()
