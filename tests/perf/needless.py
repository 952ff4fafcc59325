#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is sent twice although nothing is lost, so for nothing: full rate over a lab without faults, by each transmit
engine, message size and kind of memory.

usage: needless.py [--seconds S] [--engine xdp|af_xdp] [--sizes 8,64K,1M] [--limit PERCENT]

Fails when a run sends more than --limit (0.05) percent of its packets twice.
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


def run(fabric, size, memory, seconds):
    with server(fabric):
        client = ["nsenter", f"--net=/run/netns/{fabric.prefix}-h0", "--", "env", f"MRC_INSTANCE={fabric.prefix}-h0",
                  binary("mrc-perf"), FAR_END]
        done = subprocess.run([*client, "-s", size, "-D", str(seconds), "--memory", memory, "--json"],
                              capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=int, default=60, help="of each run")
    parser.add_argument("--engine", choices=("xdp", "af_xdp"), action="append")
    parser.add_argument("--sizes", default="8,64K,1M")
    parser.add_argument("--limit", type=float, default=0.05, help="percent of packets sent twice")
    arguments = parser.parse_args()
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    failed = False
    for engine in arguments.engine or ("xdp", "af_xdp"):
        with lab(f"needless-{engine[0]}", "--engine", engine) as fabric:
            for size in arguments.sizes.split(","):
                for memory in ("shared", "process"):
                    report = run(fabric, size, memory, arguments.seconds)
                    packets = sum(report["plane_tx_packets"])
                    share = 100 * report["retransmits"] / packets
                    failed |= share > arguments.limit
                    print(f"{engine:6} {size:>4} {memory:7} {report['goodput_gbps']:5.2f} Gbit/s  {packets:9} packets  "
                          f"{report['retransmits']:6} sent again, {share:.4f} % ({report['timeouts']} time-outs, "
                          f"{report['losses']} losses inferred)", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
