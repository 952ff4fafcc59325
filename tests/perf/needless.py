#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is sent twice although nothing is lost, so for nothing: full rate over a lab without faults, by each transmit
engine, message size and kind of memory. With --loss, over a lab that loses so many percent on each link between leaf
and spine, how much more is sent again than was lost.

usage: needless.py [--seconds S] [--engine xdp|af_xdp] [--sizes 8,64K,1M] [--limit PERCENT] [--loss PERCENT]

Fails when a run sends more than --limit (0.05) percent of its packets twice; with --loss, when it sends more again than
1.1 times the data packets that were lost.
"""

import argparse
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_support import binary, lab, need_binaries, need_root  # noqa: E402
from transfer_support import server  # noqa: E402

FAR_END = "fd6d:7263::1:1"
MOST_PER_LOST = 1.1


def run(fabric, size, memory, seconds):
    with server(fabric):
        client = ["nsenter", f"--net=/run/netns/{fabric.prefix}-h0", "--", "env", f"MRC_INSTANCE={fabric.prefix}-h0",
                  binary("mrc-perf"), FAR_END]
        done = subprocess.run([*client, "-s", size, "-D", str(seconds), "--memory", memory, "--json"],
                              capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def lose(fabric, percent):
    """On the links of all planes between h0's leaf and the spines."""
    for link in fabric.status()["links"]:
        ends = (link["a"], link["b"])
        if all("t" in end for end in ends) and any(end.endswith("t0-0") for end in ends):
            fabric.run("impair", *ends, "--loss", f"{percent}%")


def judge(report, arguments):
    """(whether it is within bounds, how much was sent again)"""
    packets, again = sum(report["plane_tx_packets"]), report["retransmits"]
    if not arguments.loss:
        share = 100 * again / packets
        return share <= arguments.limit, f"{share:.4f} %"
    # Nothing is duplicated: what was sent and is no arrival, new or known, was lost.
    lost = report["sender"]["tx_packets"] - report["receiver"]["rx_packets"] - report["receiver"]["rx_duplicates"]
    return again <= MOST_PER_LOST * lost, f"{again / max(lost, 1):.3f} times the {lost} that were lost"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=int, default=60, help="of each run")
    parser.add_argument("--engine", choices=("xdp", "af_xdp"), action="append")
    parser.add_argument("--sizes", default="8,64K,1M")
    parser.add_argument("--limit", type=float, default=0.05, help="percent of packets sent twice")
    parser.add_argument("--loss", type=float, default=0, help="percent that the links lose")
    arguments = parser.parse_args()
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    failed = False
    for engine in arguments.engine or ("xdp", "af_xdp"):
        with lab(f"needless-{engine[0]}", "--engine", engine) as fabric:
            if arguments.loss:
                lose(fabric, arguments.loss)
            for size in arguments.sizes.split(","):
                for memory in ("shared", "process"):
                    report = run(fabric, size, memory, arguments.seconds)
                    within, share = judge(report, arguments)
                    failed |= not within
                    print(f"{engine:6} {size:>4} {memory:7} {report['goodput_gbps']:5.2f} Gbit/s  "
                          f"{sum(report['plane_tx_packets']):9} packets  {report['retransmits']:6} sent again, {share} "
                          f"({report['timeouts']} time-outs, {report['losses']} losses inferred)"
                          f"{'' if within else '   EXCEEDED'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
