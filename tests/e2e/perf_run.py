#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/perf/run goodput, one short round: ours and every peer move bytes over the same lab, and the report has its
shape. How fast they are is not looked at, nor whether the machine was quiet."""

import json
import os
import subprocess
import sys

from lab_support import ROOT, check, need_binaries, need_root

RUN = os.path.join(ROOT, "tests/perf/run")
NAMES = {"TCP cubic, one plane", "TCP bbr, one plane", "MPTCP, a subflow per plane", "UDP, one plane",
         "TCP over mrcnet0", "MRC, XDP, shared memory", "MRC, XDP, process memory", "MRC, AF_XDP, shared memory",
         "MRC, AF_XDP, process memory", "MRC, XDP, process memory, libmrc-heap",
         "MRC inside the program, shared memory", "MRC inside the program, process memory", "raw AF_XDP",
         "raw AF_XDP, payload copied", "raw AF_XDP, one plane", "XDP transmit into AF_XDP",
         "XDP transmit into AF_XDP, payload copied"}
BASELINE = "raw AF_XDP, payload copied"
REFUSED = {("nonsense",): ("case 'nonsense'", "goodput, cpu"), ("goodput", "--runs", "0"): ("--runs", "1 and more"),
           ("goodput", "--at", "3M"): ("leave no row", "64K, 1M"),
           ("goodput", "--baseline", "UDP"): ("--baseline is no row's name", "'UDP, one plane'"),
           ("--build", "x=/nonexistent"): ("has an mrcd",)}


def run(*arguments):
    return subprocess.run([sys.executable, RUN, *arguments], capture_output=True, text=True, check=False)


def check_row(row):
    runs = row["runs"]
    # By ticks, nothing may be left for a run beside others that took nearly all.
    check(len(runs) == 1 and runs[0]["bytes"] > 0 and runs[0]["gbps"] > 0 and
          (runs[0]["cpu_s_per_gb"] > 0 or runs[0]["disturbed"]),
          f"{row['name']}: {runs[0]['bytes']} bytes, {runs[0]['cpu_s_per_gb']} s of processor a gigabyte")
    figures = row["summary"]["gbps"]
    check(figures["min"] == figures["median"] == figures["max"] == runs[0]["gbps"] and figures["ratio"] > 0,
          "its summary is that run's, with a ratio to the baseline")
    wanted = next((kind for kind in ("shared", "process") if f"{kind} memory" in row["name"]), None)
    check(row["memory"] == wanted, f"its memory is named: {row['memory']}")
    check(row["thrown_away"] == 0 and row["disturbed"] == runs[0]["disturbed"], "and what foreign load did to it")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrc-bench-raw", "mrc-bench-tcp")
    for arguments, words in REFUSED.items():
        done = run(*arguments)
        check(done.returncode == 2 and all(word in done.stderr for word in words), f"{arguments} is refused")
    done = run("goodput", "--at", "1M", "--baseline", BASELINE, "--runs", "1", "--seconds", "1", "--repeats", "0",
               "--json")
    check(done.returncode == 0, f"a round of runs ends well {done.stderr if done.returncode else ''}")
    report = json.loads(done.stdout)
    check(report["rounds"] == 1 and report["seconds"] == 1 and report["machine"]["cores"] == os.cpu_count(),
          "the report says how it was measured, and on what")
    one, = report["cases"]
    check(one["case"] == "goodput" and one["metrics"] == {"gbps": "Gbit/s"}, "it has the case that was asked for")
    check({row["name"] for row in one["rows"]} == NAMES, "ours by engine and memory, and every peer, have a row")
    for row in one["rows"]:
        check_row(row)
    check(one["baseline"] == BASELINE and
          [row["name"] for row in one["rows"] if row["summary"]["gbps"]["ratio"] == 1] == [BASELINE],
          "ratios are to the row that was asked for")
    check({row["point"] for row in one["rows"]} == {"1M"}, "at the one point that was asked for")


if __name__ == "__main__":
    main()
