#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The fabric map of two hosts of a lab, without traffic: each link and switch that dies is named by its events within
a second of the fault, by the clock that both share; one that loses 5 % by as many loops as a second has at the rates
that are configured (how many are lost is chance, and how many leave in a second is the machine's: tests/perf/
fabric_faults.py has times); and nothing else is. A healthy lab has no fault. One lab of each kind of switch, one fault
after the other.

usage: fabric_map.py xdp|kernel
"""

import json
import sys
import time

from lab_support import TIME_SCALE, check, lab, need_binaries, need_root
from mrcctl import operator, run
from transfer_support import DEADLINE_S, wait_until

BOUND_S = 1 * TIME_SCALE
INTERVAL_US, SUSPECT_INTERVAL_US = 5000, 1000
CONFIG = f"[fabric_map]\ninterval_us = {INTERVAL_US}\nsuspect_interval_us = {SUSPECT_INTERVAL_US}\n"
BOUND_LOOPS = 1_000_000 // INTERVAL_US + 1_000_000 // SUSPECT_INTERVAL_US
PLANES, SPINES = 2, 2
LOSSY = ("--loss", "5%", "--one-way")
HOST_LINK = "host_link_or_leaf"
SPINE_LINK = "leaf_spine_link"
SWITCHES = {"xdp": (), "kernel": ("--switch", "kernel")}


def named(state, plane, spine, blame):
    return {(f"link_{state}", plane, spine, blame)}


def dead(*what):
    return (*what, "down"), (*what, "up")


def lossy(a, b):
    return ("impair", a, b, *LOSSY), ("impair", a, b, "--clear")


# What is done to the lab, how it is undone, and what h0, which alone is behind leaf 0, has to say with h1, which is
# behind leaf 1: no other host tells whether it is its link or its leaf. XDP switches lose packets
# toward a host, kernel switches from it.
HOST_LINK_LOSES = {"xdp": lossy("p1t0-0", "h0"), "kernel": lossy("h0", "p1t0-0")}


def faults_of(kind):
    return {
        "dead link of the host": (dead("link", "h0", "p0t0-0"), named("dead", 0, None, HOST_LINK)),
        "dead link of the leaf to a spine": (dead("link", "p1t0-0", "p1t1-1"), named("dead", 1, 1, SPINE_LINK)),
        "dead leaf": (dead("switch", "p1t0-0"), named("dead", 1, None, HOST_LINK)),
        "dead spine": (dead("switch", "p0t1-0"), named("dead", 0, 0, "spine")),
        "link of the host that loses one way": (HOST_LINK_LOSES[kind], named("lossy", 1, None, HOST_LINK)),
        "link of the leaf that loses on the way up": (lossy("p0t0-0", "p0t1-1"), named("lossy", 0, 1, SPINE_LINK)),
        "link of the leaf that loses on the way down": (lossy("p1t1-0", "p1t0-0"), named("lossy", 1, 0, SPINE_LINK)),
    }


class watcher:
    """The links of a host, and the events that its daemon tells of them."""

    def __init__(self, fabric, host):
        self.mrcctl = operator(fabric, host)
        self.begin_ns = time.monotonic_ns()

    def forget(self):
        self.begin_ns = time.monotonic_ns()

    def links(self):
        return self.mrcctl.json("fabric", "map")["links"]

    def sent(self, plane, spine):
        return next(link["sent"] for link in self.links() if (link["plane"], link["spine"]) == (plane, spine))

    def faults(self):
        return {(link["plane"], link["spine"], link["state"]) for link in self.links()
                if link["state"] not in ("good", "unknown")}

    def is_good(self):
        return all(link["state"] == "good" for link in self.links())

    def events(self):
        """Of faults since forget(): when, and what."""
        lines = run("event", "-j", "--instance", self.mrcctl.instance).stdout.splitlines()
        found = [self.event(line) for line in lines if line.startswith("{")]
        return [(when, what) for when, what in found if when >= self.begin_ns and what[0].startswith("link_") and
                what[0] != "link_good"]

    @staticmethod
    def event(line):
        row = json.loads(line)
        return row["time_ns"], (row["event"], row.get("plane"), row.get("spine"), row.get("blame"))


def break_and_mend(fabric, here, fault):
    """Does it, waits until something is named, and undoes it. Returns how long that took from when the lab had done it,
    how many loops had left by then on the way that is at fault, and what else was named."""
    (broken, mended), expected = fault
    (_, plane, spine, _), = expected
    here.forget()
    sent = here.sent(plane, spine)
    fabric.run(*broken)
    done_ns = time.monotonic_ns()
    named_at = wait_until(here.events, DEADLINE_S)
    sent = here.sent(plane, spine) - sent
    fabric.run(*mended)
    wait_until(here.is_good, DEADLINE_S)
    others = [what for _, what in here.events() if what not in expected]
    return (named_at[0][0] - done_ns) / 1e9 if named_at else None, sent, others


def check_fault(fabric, here, name, fault):
    took_s, sent, others = break_and_mend(fabric, here, fault)
    is_prompt = took_s is not None and (sent <= BOUND_LOOPS if "loses" in name else took_s < BOUND_S)
    check(is_prompt, f"{name}: named {took_s} s after the lab had done it, after {sent} loops")
    check(not others, f"and nothing else was: {others}")
    check(here.is_good(), f"all is good again: {here.faults()}")


def check_healthy(here):
    check(wait_until(here.is_good, DEADLINE_S), f"all links are good: {here.faults()}")
    links = here.links()
    check([(link["plane"], link["spine"]) for link in links] ==
          [(plane, spine) for plane in range(PLANES) for spine in (None, *range(SPINES))],
          "one line for each port, and for each spine of its plane")
    before = {(link["plane"], link["spine"]): link["arrived"] for link in links}
    check(wait_until(lambda: all(link["arrived"] > before[link["plane"], link["spine"]] for link in here.links()),
                     DEADLINE_S), "loops come back by all of them")
    check(all(link["lost"] == 0 and sum(link["rtt_log2"]) >= link["arrived"] - 1 for link in links), "none is lost")
    text = here.mrcctl.text("fabric", "map")
    check(len(text.splitlines()) == 1 + len(links) and "p0 - leaf 0" in text and "leaf 0 - spine 1" in text,
          f"the table:\n{text}")
    counters = here.mrcctl.json("counters")["verdicts"]
    check(counters["rx_loop"] > 0 and counters["rx_drop_loop"] == 0, "host_rx counts them")
    check(all(port["rx_packets"] < counters["rx_loop"] for port in here.mrcctl.json("port", "list")),
          "and they are no packets of the port")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl")
    kind = sys.argv[1]
    with lab(f"fabric-map-{kind}", "--planes", str(PLANES), "--spines", str(SPINES), *SWITCHES[kind],
             config=CONFIG) as fabric:
        here = watcher(fabric, "h0")
        check_healthy(here)
        for name, fault in faults_of(kind).items():
            check_fault(fabric, here, name, fault)


if __name__ == "__main__":
    main()
