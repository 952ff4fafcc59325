#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A site's own SRv6 plan: a block of 48 bits, patterns of its own, and switches whose uSIDs follow none. A verified
transfer outlives the cut of a plane over switches that are

xdp       our own
kernel    the kernel's seg6local, by the lab
iproute2  Linux hosts that have run what `mrcctl fabric show --switch-config iproute2` prints, and nothing else
frr       Linux hosts whose FRR has read what `--switch-config frr` prints, and nothing else"""

import json
import pathlib
import subprocess
import sys
import tempfile

from frr import frr_switches
from lab_support import binary, check, lab, need_binaries, need_root
from pinned_maps import ASSUMED_BAD, host_maps
from transfer_support import STEADY, cut_and_watch, transfer

PLAN = """
[fabric]
usid_block = "fd00:12:5::/48"
leaf_usid = ["01PPIIIIIIIIIIII"]
spine_usid = ["0P1I"]
host_usid = "eIIP"
[[usid]]
plane = 1
leaf = 1
usid = 0xa01f
[[usid]]
plane = 0
spine = 1
usid = 0xb000
"""
# Another writing of the same, to compare with: by switch, from the table above.
USIDS = {"p0t0-0": "4000", "p0t0-1": "4001", "p0t1-0": "10", "p0t1-1": "b000",
         "p1t0-0": "5000", "p1t0-1": "a01f", "p1t1-0": "110", "p1t1-1": "111"}
SHAPE = ("--planes", "2", "--leaves", "2", "--spines", "2", "--hosts", "2")
DEAD_PLANE = 1
GOES_ON_BYTES = 4 << 20


def switch_text(fabric, language, name):
    """What the switch is configured with, by the configuration of a host."""
    config = pathlib.Path(fabric.host("h0")["config"])
    return subprocess.run([binary("mrcctl"), "fabric", "show", name, "--switch-config", language, "--config", config],
                          text=True, capture_output=True, check=True).stdout


def forget_usids(fabric, switch):
    """Takes the lab's own uSIDs off a kernel switch: it forwards nothing then."""
    inside = fabric.inside(switch["name"], "sh", "-ec", "ip link delete sid0; for d in $(ip -o -6 route show | "
                           "sed -n 's/^\\(fd00[^ ]*\\) via.*/\\1/p'); do ip -6 route delete $d; done; ip -6 route show")
    check("fd00:" not in inside, f"{switch['name']} knows no uSID of the lab's any more")


def check_plan_is_shown(fabric):
    shown = subprocess.run([binary("mrcctl"), "fabric", "show", "-j", "--config", fabric.host("h0")["config"]],
                           text=True, capture_output=True, check=True).stdout
    ours = {node["switch"]: node["prefix"] for node in json.loads(shown)["switches"]}
    expected = {name: f"fd00:12:5:{usid}::/64" for name, usid in USIDS.items()}
    check(ours == expected, "mrcctl shows the uSIDs of the plan")
    lab_has = {switch["name"]: switch["usid"] for switch in fabric.status()["switches"]}
    check(lab_has == ours, "and the lab's switches have them")


def check_transfer(fabric):
    sender = host_maps(f"{fabric.prefix}-h0")
    dead = sender.paths_to(fabric.host("h1")["mrc_address"], DEAD_PLANE)
    cut = {}
    watch = cut_and_watch(fabric, DEAD_PLANE, lambda: sender.states(dead) == {ASSUMED_BAD}, GOES_ON_BYTES, cut)
    client, report, _ = transfer(fabric, *STEADY, "-D", "50", "--verify", on_sample=watch)
    check(cut.get("left") and "stopped" in cut, f"the dead plane is left, and {GOES_ON_BYTES} bytes more arrive")
    check(client.report["verified"] is True and client.report["bytes"] == report["bytes"], "every byte is right")
    check(all(client.report["plane_tx_packets"]), f"over all planes: {client.report['plane_tx_packets']}")


def check_over(case, directory):
    kind = "xdp" if case == "xdp" else "kernel"
    with lab(f"plan-{case}", *SHAPE, "--switch", kind, config=PLAN) as fabric:
        check_plan_is_shown(fabric)
        switches = fabric.status()["switches"]
        if case in ("iproute2", "frr"):
            for switch in switches:
                forget_usids(fabric, switch)
        if case == "iproute2":
            for switch in switches:
                fabric.inside(switch["name"], "sh", "-ec", switch_text(fabric, "iproute2", switch["name"]))
        if case != "frr":
            check_transfer(fabric)
            return
        with frr_switches(fabric, directory, {switch["name"]: switch_text(fabric, "frr", switch["name"])
                                              for switch in switches}):
            check_transfer(fabric)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrcctl")
    with tempfile.TemporaryDirectory() as directory:
        check_over(sys.argv[1], directory)


if __name__ == "__main__":
    sys.exit(main())
