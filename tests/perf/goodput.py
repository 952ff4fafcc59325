#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Goodput of one queue pair beside one TCP connection over the same fabric (four planes, XDP switches), in turns, so
that the ratio holds when the machine's speed drifts; MRC with memory that the applications share with mrcd
(mrc_alloc_shared) and with their own (malloc), which the kernel copies. Prints minimum, median and maximum of each, and
the median of the ratios.

usage: goodput.py [--rounds N] [--seconds S]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_support import binary, lab, need_binaries, need_root  # noqa: E402
from transfer_support import server  # noqa: E402

FAR_END = "fd6d:7263::1:1"


def in_host(fabric, host, *argv):
    return ["nsenter", f"--net=/run/netns/{fabric.prefix}-{host}", "--", *argv]


def mrc(fabric, seconds, memory, host="h0"):
    with server(fabric):
        client = in_host(fabric, host, "env", f"MRC_INSTANCE={fabric.prefix}-{host}", binary("mrc-perf"), FAR_END)
        done = subprocess.run([*client, "-s", "1M", "-D", str(seconds), "--memory", memory, "--json"],
                              capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    if report["memory"] != memory:
        sys.exit(f"asked for {memory} memory, measured {report['memory']}")
    return report["goodput_gbps"]


def tcp(fabric, seconds, _, host="h0"):
    with subprocess.Popen(in_host(fabric, "h1", "iperf3", "--server", "--one-off", "--forceflush"),
                          stdout=subprocess.PIPE, text=True) as far_end:
        for line in far_end.stdout:
            if "listening" in line:
                break
        done = subprocess.run(in_host(fabric, host, "iperf3", "--client", FAR_END, "--time", str(seconds), "--json"),
                              capture_output=True, text=True, check=True)
        far_end.stdout.read()
    return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="of each run")
    arguments = parser.parse_args()
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    with lab("goodput-x", "--engine", "xdp") as by_xdp, lab("goodput-a", "--engine", "af_xdp") as by_af_xdp:
        runs = {"MRC, XDP, shared memory": (mrc, by_xdp, "shared"),
                "MRC, XDP, process memory": (mrc, by_xdp, "process"),
                "MRC, AF_XDP, shared memory": (mrc, by_af_xdp, "shared"),
                "MRC, AF_XDP, process memory": (mrc, by_af_xdp, "process"),
                "TCP over mrcnet0": (tcp, by_xdp, None)}
        results = {name: [] for name in runs}
        for _ in range(arguments.rounds):
            for name, (run, fabric, memory) in runs.items():
                results[name].append(run(fabric, arguments.seconds, memory))
                print(f"  {name}: {results[name][-1]:.2f} Gbit/s", file=sys.stderr)
    baseline = results["TCP over mrcnet0"]
    print(f"{'Gbit/s':28} {'min':>6} {'median':>7} {'max':>6}   times TCP")
    for name, values in results.items():
        ratio = statistics.median(mine / theirs for mine, theirs in zip(values, baseline))
        print(f"{name:28} {min(values):6.2f} {statistics.median(values):7.2f} {max(values):6.2f}   {ratio:.2f}")


if __name__ == "__main__":
    main()
