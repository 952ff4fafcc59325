#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts tell each other what their loops find, and so name together what one of them cannot: whether a host's link, its
leaf, the leaf's link to a spine, or the spine is at fault; dead, losing 5 %, or one way only. Two hosts behind each of
two leaves; what is named is the same on a host that has the fault and on one that has not, and nothing else is.

usage: fabric_faults_named.py xdp|kernel [all]
"""

import subprocess
import sys

from fabric_map import watcher
from lab_support import LAB, check, lab, need_binaries, need_root
from transfer_support import DEADLINE_S, wait_until

CONFIG = "[fabric_map]\ninterval_us = 5000\n"
PLANES, SPINES, HOSTS = 2, 2, 4
SWITCHES = {"xdp": (), "kernel": ("--switch", "kernel")}
LOSES = ("--loss", "5%")
# Of plane 1: h0 and h2 are behind leaf 0.
NEIGHBOURS = {"p1t0-0": ("h0", "h2", "p1t1-0", "p1t1-1"), "p1t1-0": ("p1t0-0", "p1t0-1")}


class fault:
    """What is done to the lab, and how it is undone; what is to be named, and which way packets are lost there, where
    that can be told."""

    def __init__(self, broken, mended, blame, state, leaf=None, spine=None, host=None, direction=None):
        self.broken, self.mended, self.direction = broken, mended, direction
        self.expected = {"plane": 1, "blame": blame, "state": state, "leaf": leaf, "spine": spine, "host": host}


def cut(*what, **named):
    return fault([(*what, "down")], [(*what, "up")], state="dead", **named)


def impaired(links, how, **named):
    return fault([("impair", *link, *how) for link in links], [("impair", *link, "--clear") for link in links], **named)


def through(kind, switch):
    """Everything that the switch sends; of kernel switches, which impair what they receive, all of that."""
    ways = [(switch, neighbour) for neighbour in NEIGHBOURS[switch]]
    return [way[::-1] for way in ways] if kind == "kernel" else ways


def one_way_faults(kind, host):
    """Of a host's link, XDP switches impair what they send to the host, kernel switches what comes from it."""
    one_way, dead = (*LOSES, "--one-way"), ("--loss", "100%", "--one-way")
    link = {"blame": "host_link", "leaf": 0, "host": host}
    uplink = {"blame": "leaf_spine_link", "leaf": 0, "spine": 1}
    up, down = ("p1t0-0", "p1t1-1"), ("p1t1-1", "p1t0-0")
    way, host_way = {"xdp": ("down", ("p1t0-0", "h0")), "kernel": ("up", ("h0", "p1t0-0"))}[kind]
    return {
        f"host's link dead on the way {way}": impaired([host_way], dead, state="dead", **link),
        f"host's link lossy on the way {way}": impaired([host_way], one_way, state="lossy", **link),
        "leaf's link lossy on the way up": impaired([up], one_way, state="lossy", direction="up", **uplink),
        "leaf's link lossy on the way down": impaired([down], one_way, state="lossy", direction="down", **uplink),
        "leaf's link dead on the way up": impaired([up], dead, state="dead", direction="up", **uplink),
    }


def faults_of(kind, host):
    link = {"blame": "host_link", "leaf": 0, "host": host}
    uplink = {"blame": "leaf_spine_link", "leaf": 0, "spine": 1}
    one_way = (*LOSES, "--one-way")
    return {
        "dead spine": cut("switch", "p1t1-0", blame="spine", spine=0),
        "lossy leaf": impaired(through(kind, "p1t0-0"), one_way, blame="leaf", state="lossy", leaf=0),
        "dead link of a host": cut("link", "h0", "p1t0-0", **link),
        "lossy link of a leaf": impaired([("p1t0-0", "p1t1-1")], LOSES, state="lossy", direction="both", **uplink),
        "dead leaf": cut("switch", "p1t0-0", blame="leaf", leaf=0),
        "lossy spine": impaired(through(kind, "p1t1-0"), one_way, blame="spine", state="lossy", spine=0),
        "lossy link of a host": impaired([("h0", "p1t0-0")], LOSES, state="lossy", **link),
        "dead link of a leaf": cut("link", "p1t0-0", "p1t1-1", direction="both", **uplink),
        **one_way_faults(kind, host),
    }


def at_once(fabric, commands):
    """All of a switch's links fail together: one after the other they would be faults of links for a while."""
    running = [subprocess.Popen([LAB, command[0], "--prefix", fabric.prefix, *command[1:]]) for command in commands]
    check(all([process.wait() == 0 for process in running]), f"the lab does {commands}")


USUAL = ("dead spine", "lossy leaf", "dead link of a host", "leaf's link lossy on the way up")


class host_view:
    """What a host says is at fault."""

    def __init__(self, fabric, name):
        self.watcher = watcher(fabric, name)

    def faults(self):
        keys = ("plane", "blame", "state", "leaf", "spine", "host")
        return [{key: found[key] for key in keys} for found in self.watcher.mrcctl.json("fabric", "map")["faults"]]

    def directions(self):
        return [found["direction"] for found in self.watcher.mrcctl.json("fabric", "map")["faults"]]

    def events(self):
        """Of faults, as they were told since forget()."""
        return [what for _, what in self.watcher.events()]


def check_fault(fabric, views, name, given):
    for view in views:
        view.watcher.forget()
    at_once(fabric, given.broken)
    named = wait_until(lambda: all(view.faults() == [given.expected] for view in views), DEADLINE_S)
    check(named, f"{name}: {given.expected} is named: {[view.faults() for view in views]}")
    if given.direction:
        check(wait_until(lambda: all(view.directions() == [given.direction] for view in views), DEADLINE_S),
              f"and which way: {[view.directions() for view in views]}")
    at_once(fabric, given.mended)
    wanted = ("link_" + given.expected["state"], 1, given.expected["spine"], given.expected["blame"])
    check(wait_until(lambda: not any(view.faults() for view in views), DEADLINE_S), "and taken back")
    told = [view.events() for view in views]
    check(all(wanted in events for events in told), f"events tell of it: {told}")
    unsure = [what[3] for events in told for what in events if what[3] != wanted[3]]
    check(all("_or_" in blame for blame in unsure), "and blame nothing else, for sure")
    check(wait_until(lambda: all(view.watcher.is_good() for view in views), DEADLINE_S), "all links are good again")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl")
    kind, everything = sys.argv[1], "all" in sys.argv[2:]
    with lab(f"faults-{kind}", "--planes", str(PLANES), "--spines", str(SPINES), "--hosts", str(HOSTS),
             *SWITCHES[kind], config=CONFIG) as fabric:
        views = [host_view(fabric, name) for name in ("h0", "h3")]
        check(wait_until(lambda: all(view.watcher.is_good() for view in views), DEADLINE_S), "all links are good")
        faults = faults_of(kind, fabric.host("h0")["mrc_address"])
        for name in faults if everything else USUAL:
            check_fault(fabric, views, name, faults[name])


if __name__ == "__main__":
    main()
