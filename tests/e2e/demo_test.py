#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/demo --json says what a measurement needs, exits 0 only when every byte matched, and leaves nothing behind,
also when it is interrupted."""

import glob
import json
import os
import re
import subprocess
import urllib.request

from demo_support import check_interrupted
from lab_support import ROOT, check, left_behind, need_binaries, need_root

DEMO = os.path.join(ROOT, "scripts/demo")
LIMIT_S = 180
FIELDS = ("goodput_gbps", "msg_rate_mps", "max_stall_us", "retransmits", "bytes", "verified", "cut_at_ms", "planes",
          "stalls_us", "plane_tx_packets", "plane_rx_packets", "sha256_sent", "sha256_received", "paths_good")


def start():
    return subprocess.Popen([DEMO, "--no-build", "--json", "--size", "800"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def prefix_of(process):
    return f"demo{process.pid}"  # bash replaces itself by Python


def left(process):
    return left_behind(prefix_of(process)) + glob.glob("/var/tmp/mrc-demo-*")


def test_whole():
    process = start()
    out, progress = process.communicate(timeout=LIMIT_S)
    check(process.returncode == 0, "it succeeds" + (f":\n{progress}" if process.returncode else ""))
    result = json.loads(out)
    missing = [field for field in FIELDS if field not in result]
    check(not missing, f"the JSON object has all fields {missing or ''}")
    check(result["verified"] is True and result["bytes"] >= 800 * 10**6, f"{result['bytes']} bytes are right")
    # The last of its switches may follow, where the processor is shared, after the last byte.
    check(0 < result["cut_ordered_ms"] < min(result["duration_ms"], result["cut_at_ms"]),
          f"the plane was cut from {result['cut_ordered_ms']:.0f} ms on, of {result['duration_ms']:.0f}")
    cut = result["cut_plane"]
    others = [packets for plane, packets in enumerate(result["plane_rx_packets"]) if plane != cut]
    check(result["plane_rx_packets"][cut] < min(others), f"which shows: {result['plane_rx_packets']}")
    print(f"   {result['goodput_gbps']:.2f} Gbit/s, longest stalls {result['stalls_us']} us")
    check(left(process) == [], "and nothing is left behind")


def test_view():
    """The page is there before the transfer, and until Enter."""
    process = subprocess.Popen([DEMO, "--no-build", "--size", "200", "--view", "60"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    progress = ""
    while "Enter ends it" not in progress and (line := process.stderr.readline()):
        progress += line
    address = re.search(r"the page is (http://127\.0\.0\.1:\d+/)", progress)
    check(address, "the page's address is printed" if address else f"no page:\n{progress}")
    with urllib.request.urlopen(address[1] + "snapshot", timeout=LIMIT_S) as reply:
        lab = json.load(reply)["lab"]
    check(lab["prefix"] == prefix_of(process), "the page shows the demo's lab")
    out, _ = process.communicate("\n", timeout=LIMIT_S)
    check(process.returncode == 0 and "every byte matched" in out, "Enter ends it, after the report")
    check(left(process) == [], "and nothing is left behind")


def test_interrupted():
    process = start()
    check_interrupted(process, prefix_of(process), lambda: left(process), LIMIT_S)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrc-view")
    test_whole()
    test_view()
    test_interrupted()


if __name__ == "__main__":
    main()
