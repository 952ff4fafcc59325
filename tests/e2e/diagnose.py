#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`mrcctl diagnose` on a lab: each link and switch that is cut or loses packets is named, with its direction, and
nothing else is; a healthy lab blames nobody. One lab, without traffic, one fault after the other."""

import json
import subprocess
import sys

from lab_support import check, lab, need_binaries, need_root
from mrcctl import run
from transfer_support import DEADLINE_S, stopped, wait_until

SECONDS = "0.5"  # some 250 packets a leaf or spine
# What a link that loses all of it on the way out and one that loses half of it each way do to a thousand packets
# differs by nine standard deviations; with 10 % and half a second one run in twenty could not tell, or erred.
LOSSY = ("--loss", "30%")
LOSSY_SECONDS = "1"


def cut(*ends):
    return ("link", *ends, "down"), ("link", *ends, "up")


def cut_switch(name):
    return ("switch", name, "down"), ("switch", name, "up")


def impair(a, b, *how):
    return ("impair", a, b, *how), ("impair", a, b, "--clear")


def fault(cause, plane, leaf=None, spine=None, direction=None, device=None):
    return {"cause": cause, "plane": plane, "leaf": leaf, "spine": spine, "direction": direction, "device": device}


# What is done to the lab, how it is undone, and what h0, which is behind leaf 0, has to say.
FAULTS = {
    "dead host link": (cut("h0", "p0t0-0"), fault("host_link", 0, leaf=0, device="p0")),
    "dead link of a leaf and a spine": (cut("p0t0-0", "p0t1-1"),
                                        fault("leaf_spine_link", 0, leaf=0, spine=1, direction="both")),
    "dead link of a far leaf": (cut("p1t0-1", "p1t1-0"),
                                fault("leaf_spine_link", 1, leaf=1, spine=0, direction="both")),
    "dead spine": (cut_switch("p0t1-1"), fault("spine", 0, spine=1)),
    "dead far leaf": (cut_switch("p1t0-1"), fault("leaf", 1, leaf=1)),
    "dead link of the peer": (cut("h1", "p0t0-1"), fault("peer_link", 0, leaf=1)),
    "lossy host link": (impair("p1t0-0", "h0", *LOSSY, "--one-way"),
                        fault("host_link", 1, leaf=0, direction="in", device="p1")),
    "lossy link of a leaf and a spine": (impair("p0t0-0", "p0t1-0", *LOSSY),
                                         fault("leaf_spine_link", 0, leaf=0, spine=0, direction="both")),
    "link that loses one way": (impair("p0t0-0", "p0t1-1", *LOSSY, "--one-way"),
                                fault("leaf_spine_link", 0, leaf=0, spine=1, direction="out")),
    "far link that is dead one way": (impair("p1t0-1", "p1t1-1", "--loss", "100%", "--one-way"),
                                      fault("leaf_spine_link", 1, leaf=1, spine=1, direction="in")),
    "lossy link of the peer": (impair("p1t0-1", "h1", *LOSSY, "--one-way"),
                               fault("peer_link", 1, leaf=1, direction="out")),
}


class doctor:
    def __init__(self, fabric):
        self.fabric, self.instance = fabric, f"{fabric.prefix}-h0"

    def diagnose(self, *arguments, seconds=SECONDS):
        done = run("diagnose", "--seconds", seconds, "-j", "--instance", self.instance, *arguments)
        if done.stderr or not done.stdout:
            sys.exit(f"FAIL: mrcctl diagnose: status {done.returncode}: {done.stderr}")
        report = json.loads(done.stdout)
        check(done.returncode == (0 if report["healthy"] else 1), f"the status is {done.returncode}")
        return report

    def check(self, name, expected, seconds=SECONDS):
        findings = self.diagnose(seconds=seconds)["findings"]
        said = "; ".join(f"{finding['sentence']} ({finding['evidence']})" for finding in findings)
        same = len(findings) == 1 and {key: findings[0][key] for key in expected} == expected
        check(same and findings[0]["advice"], f"{name}: {said or 'nothing'}")


def check_faults(fabric, here):
    report = here.diagnose()
    check(report["healthy"] and report["findings"] == [], f"a healthy lab blames nobody: {report['findings']}")
    check(report["looked_at"]["ports"] == 2 and report["looked_at"]["peers"] == 1 and
          report["looked_at"]["probe_packets"] > 1000 and report["looked_at"]["unprobed"] is None, "it has looked")
    for name, ((broken, mended), expected) in FAULTS.items():
        fabric.run(*broken)
        here.check(name, expected, LOSSY_SECONDS if LOSSY[1] in broken else SECONDS)
        fabric.run(*mended)
    text = run("diagnose", "--seconds", SECONDS, "--instance", here.instance)
    check(text.returncode == 0 and text.stdout.startswith("nothing is at fault\nlooked at 2 ports, 1 peer,"),
          f"all is well again: {text.stdout}")


def check_beside_pings(fabric, here):
    """Their answers arrive at the same socket, and are not waited for."""
    pings = subprocess.Popen(fabric.enter("h0", "ping", "-6", "-q", "-i", "0.02", fabric.host("h1")["mrc_address"]),
                             stdout=subprocess.DEVNULL)
    try:
        (broken, mended), expected = FAULTS["lossy host link"]
        fabric.run(*broken)
        here.check("beside somebody's pings, too", expected, LOSSY_SECONDS)
        fabric.run(*mended)
        check(pings.poll() is None, "which go on")
    finally:
        pings.kill()
        pings.wait()


def check_ports(fabric, here):
    fabric.run("link", "h0", "p0t0-0", "down", "--carrier")
    check(wait_until(lambda: any(port["reason"] == "no carrier" for port in json.loads(
        run("port", "list", "-j", "--instance", here.instance).stdout)), DEADLINE_S), "a cable is pulled out")
    here.check("port without carrier", fault("port", 0, device="p0"))
    fabric.run("link", "h0", "p0t0-0", "up")
    peer = fabric.host("h1")["mrc_address"]
    refused = run("diagnose", "fd00::1", "--instance", here.instance)
    check(refused.returncode == 1 and "'fd00::1' is no peer" in refused.stderr and refused.stderr.count("\n") == 1,
          refused.stderr.strip())
    with stopped(fabric.host("h0")["pid"]):
        findings = here.diagnose(peer)["findings"]
        check([finding["cause"] for finding in findings] == ["daemon"] and "is stopped" in findings[0]["sentence"],
              f"a daemon that hangs is named, and the rest is looked at without it: {findings}")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl")
    with lab("diagnose", "--planes", "2", "--spines", "2") as fabric:
        here = doctor(fabric)
        check_faults(fabric, here)
        check_beside_pings(fabric, here)
        check_ports(fabric, here)


if __name__ == "__main__":
    main()
