#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Latency of one client's small messages beside another client of the same two daemons that sends as much as it can:
fair service between clients, measured. Rounds of three runs, so that the ratios hold when the machine's speed drifts:

  alone       ping-pong of 8 bytes, and nobody else
  beside      the same, while another client sends messages of 1 MB from the same host to the same host
  elsewhere   the same, while that client sends as much over a second lab: what the cores and the scheduler make of it

Prints, of the half round trips' p50 and p99, minimum, median and maximum, the median of the differences, and what
deficit round robin accounts for: a message waits for no more than one turn of the other client, 64 KiB, at the rate
that the host sent at meanwhile, at either end of a half round trip.

usage: fairness.py [--rounds N] [--seconds S]
"""

import argparse
import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_support import binary, lab, need_binaries, need_root  # noqa: E402
from transfer_support import DEADLINE_S, lines_of, start_perf  # noqa: E402

TURN_BYTES = 64 * 1024  # client_quantum of agent/datapath/turn_scheduler.h
PORTS = {"small": "18600", "large": "18601"}
FAR_END = "fd6d:7263::1:1"


@contextlib.contextmanager
def perf_server(fabric, who):
    process = start_perf(fabric, "h1", "--json", "--port", PORTS[who])
    try:
        first = lines_of(process.stdout).next(time.monotonic() + DEADLINE_S)
        if first is None or not first.startswith("LISTENING "):
            sys.exit(f"FAIL: the server did not start: {process.stderr.read().decode()}")
        yield
    finally:
        process.kill()
        process.wait()


def client(fabric, who, *arguments):
    argv = ["nsenter", f"--net=/run/netns/{fabric.prefix}-h0", "--", "env", f"MRC_INSTANCE={fabric.prefix}-h0",
            binary("mrc-perf"), FAR_END, "--port", PORTS[who], "--json", *arguments]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def report_of(process):
    said, complaints = process.communicate(timeout=DEADLINE_S)
    if process.returncode != 0:
        sys.exit(f"FAIL: mrc-perf: {complaints}")
    return json.loads(said)


def small_messages(fabric, seconds):
    return report_of(client(fabric, "small", "--lat", "-D", str(seconds)))["lat_us"]


@contextlib.contextmanager
def large_messages(fabric, seconds):
    """Runs while the block does; yields a list that has its Gbit/s afterwards."""
    process = client(fabric, "large", "-s", "1M", "-D", str(seconds), "--interval", "100")
    rate = []
    try:
        for line in process.stderr:  # until it sends
            if line.startswith("{") and json.loads(line).get("event") == "interval":
                break
        yield rate
        rate.append(report_of(process)["goodput_gbps"])
    finally:
        process.kill()
        process.wait()


def one_round(near, far, seconds):
    """Latencies of the three cases, and the large messages' rates of two."""
    latency, rate = {"alone": small_messages(near, seconds)}, {}
    for case, fabric in (("beside", near), ("elsewhere", far)):
        with large_messages(fabric, seconds + 2) as sent:  # longer than the other run with its set-up
            latency[case] = small_messages(near, seconds)
        rate[case] = sent[0]
    return latency, rate


def print_table(rounds):
    for percentile in ("p50", "p99"):
        print(f"{percentile + ', us':12} {'min':>9} {'median':>9} {'max':>9}")
        for case in ("alone", "beside", "elsewhere"):
            values = [latency[case][percentile] for latency, _ in rounds]
            print(f"{case:12} {min(values):9.1f} {statistics.median(values):9.1f} {max(values):9.1f}")
        for case in ("alone", "elsewhere"):
            more = statistics.median(latency["beside"][percentile] - latency[case][percentile] for latency, _ in rounds)
            times = statistics.median(latency["beside"][percentile] / latency[case][percentile]
                                      for latency, _ in rounds)
            print(f"beside against {case}: {more:+.1f} us, {times:.2f} times")
    rates = {case: statistics.median(rate[case] for _, rate in rounds) for case in ("beside", "elsewhere")}
    turn_us = TURN_BYTES * 8 / rates["beside"] / 1e3
    print(f"1 MB messages meanwhile: {rates['beside']:.2f} Gbit/s beside, {rates['elsewhere']:.2f} elsewhere")
    print(f"a turn of {TURN_BYTES} bytes at that rate: {turn_us:.0f} us; sent and received: {2 * turn_us:.0f} us")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="of each run")
    arguments = parser.parse_args()
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    rounds = []
    shape = ("--planes", "2", "--spines", "2")
    with (lab("fair-a", *shape) as near, lab("fair-b", *shape) as far, perf_server(near, "small"),
          perf_server(near, "large"), perf_server(far, "large")):
        for _ in range(arguments.rounds):
            rounds.append(one_round(near, far, arguments.seconds))
            print("  p99, us: " + ", ".join(f"{case} {latency['p99']:.1f}" for case, latency in rounds[-1][0].items()),
                  file=sys.stderr)
    print_table(rounds)


if __name__ == "__main__":
    main()
