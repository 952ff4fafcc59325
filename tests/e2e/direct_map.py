#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The fabric map of direct mode, which sends nothing of its own: while bytes flow, a plane that is cut and one that
loses 30 % are named toward the peer, and no other plane is; all is good again when they are. In events, the log,
`mrcctl fabric map`, metrics and the map. On a bridge a plane is cut silently, on cables with its carrier, which is the
port's event and no peer's fault.

usage: direct_map.py bridge|cable
"""

import json
import re
import signal
import sys

from lab_support import DEADLINE_S, check, lab, need_binaries, need_root
from mrcctl import operator, run
from transfer_support import STEADY, transfer, wait_until

PLANES = 3
PLANE = 1
LOSS = 0.3
# What comes from h0 into the bridge of the plane; nft's numbers are random.
TABLE = "mrc_loss"
LOSE = (f"add table netdev {TABLE}; "
        f"add chain netdev {TABLE} from_h0 {{ type filter hook ingress device d0 priority 0; }}; "
        f"add rule netdev {TABLE} from_h0 numgen random mod 100 < {LOSS * 100:.0f} drop")


class map_watcher:
    """What h0 says of its planes toward h1."""

    def __init__(self, fabric):
        self.fabric, self.here = fabric, operator(fabric, "h0")
        self.peer = fabric.host("h1")["mrc_address"]

    def events(self):
        lines = run("event", "-j", "--instance", self.here.instance).stdout.splitlines()
        return [event for event in map(json.loads, lines) if event["event"].startswith("link_")]

    def last(self):
        return ([event["event"] for event in self.events() if event["plane"] == PLANE] or [None])[-1]

    def planes(self):
        return {row["plane"]: row for row in self.here.json("fabric", "map")["peers"]}

    def check_named(self, state, loss):
        """As events, the map and metrics have it, while it lasts."""
        check(wait_until(lambda: self.last() == f"link_{state}", DEADLINE_S), f"the plane is {state}: {self.events()}")
        event = [one for one in self.events() if one["event"] == f"link_{state}"][-1]
        check((event["blame"], event["reason"], event["host"]) == ("peer", "packets", self.peer),
              f"toward the peer, as packets show: {event['text']}")
        check(event["direction"] == ("up" if loss else "unknown"), f"with its direction: {event['direction']}")
        shown = self.here.json("fabric", "map")
        states = {row["plane"]: row["state"] for row in shown["peers"]}
        check(states == {plane: state if plane == PLANE else "good" for plane in range(PLANES)},
              f"no other plane is: {states}")
        check([(fault["plane"], fault["host"], fault["state"]) for fault in shown["faults"]] ==
              [(PLANE, self.peer, state)], "the list of faults has it")
        row = self.here.maps.row("fabric_faults", 0)
        check((row["state"], row["plane"], row["host_text"]) == (f"MRC_LINK_{state.upper()}", PLANE, self.peer),
              "and bpftool prints it")
        text = self.here.text("fabric", "map")
        check(f"way to peer {self.peer}" in text, f"people read it:\n{text}")
        metrics = self.here.text("metrics")
        check(re.search(rf'^mrc_fabric_fault{{.*blame="peer".*plane="{PLANE}".*state="{state}"', metrics, re.MULTILINE)
              or re.search(rf'^mrc_fabric_fault{{.*plane="{PLANE}".*blame="peer".*state="{state}"', metrics,
                           re.MULTILINE), "metrics have it")

    def check_good(self):
        check(wait_until(lambda: self.last() == "link_good" and
                         all(row["state"] == "good" for row in self.planes().values()), DEADLINE_S),
              f"and is good again: {[event['text'] for event in self.events()][-1]}")
        check(self.here.json("fabric", "map")["faults"] == [], "no fault is left")


def silent_cut(watch):
    watch.fabric.run("plane", str(PLANE), "down")
    watch.check_named("dead", loss=False)
    watch.fabric.run("plane", str(PLANE), "up")
    watch.check_good()


def loss(watch):
    leaf = f"p{PLANE}t0-0"
    watch.fabric.inside(leaf, "nft", LOSE)
    watch.check_named("lossy", loss=True)
    # Of all packets, of which acknowledgements and probes are never found lost.
    check(wait_until(lambda: LOSS / 2 < (watch.planes()[PLANE]["loss"] or 0) < LOSS * 1.5, DEADLINE_S),
          f"with about the share that is lost: {watch.planes()[PLANE]['loss']}")
    watch.fabric.inside(leaf, "nft", "delete", "table", "netdev", TABLE)
    watch.check_good()


def carrier(watch):
    watch.fabric.run("plane", str(PLANE), "down")
    check(wait_until(lambda: watch.planes()[PLANE]["state"] == "dead", DEADLINE_S), "the plane is dead in the table")
    check(watch.here.json("fabric", "map")["faults"] == [] and watch.events() == [],
          "and no peer's fault: the port has no carrier, as its own event says")
    watch.fabric.run("plane", str(PLANE), "up")
    check(wait_until(lambda: watch.planes()[PLANE]["state"] == "good", DEADLINE_S), "it is good again")


CASES = {"bridge": (silent_cut, loss), "cable": (carrier,)}
FABRICS = {"bridge": "bridge", "cable": "direct"}


def main():
    need_root()
    need_binaries("mrcd", "mrc-perf", "mrcctl")
    kind = sys.argv[1]
    with lab(f"direct-map-{kind}", "--planes", str(PLANES), "--fabric", FABRICS[kind]) as fabric:
        watch = map_watcher(fabric)
        begun = []

        def on_sample(sample, process):
            if begun or min(sample["plane_rx_packets"]) == 0:
                return
            begun.append(True)
            for case in CASES[kind]:
                case(watch)
            process.send_signal(signal.SIGINT)

        client, server, _ = transfer(fabric, *STEADY, "-D", "300", "--verify", on_sample=on_sample)
        check(begun and client.status == 130 and server["verified"] is True, f"bytes flowed {client.complaints}")
        check({event["plane"] for event in watch.events()} <= {PLANE}, "nothing else was named")


if __name__ == "__main__":
    main()
