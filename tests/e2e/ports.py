#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ports go down and come back while bytes flow, by `ip link`: the sender's own, then one of the receiver, which tells
the sender by a port status update. Nothing is lost, the other planes carry on, and the plane is used again. So it is
when the port was in another network namespace meanwhile, where it has lost program and sockets."""

import json
import signal
import subprocess

from lab_support import DEADLINE_S, TIME_SCALE, check, lab, need_binaries, need_root
from pinned_maps import host_maps
from transfer_support import STEADY, transfer, wait_until

PLANES = 4
LONGEST_STALL_S = 2 * TIME_SCALE
# Packets on each of the other planes that show: this plane is out of use, or in use again.
ENOUGH = 300


class steps:
    """Walks through `plan` while samples come: each step waits for its condition on the packets that arrived since,
    then acts. A condition says True, False for not yet, or None to count anew from the next sample."""

    def __init__(self, plan):
        self.plan, self.since = list(plan), None

    def __call__(self, sample, process):
        if not self.plan:
            return
        if self.since is None:  # of what happened before the step
            self.since = [0] * PLANES
            return
        self.since = [total + more for total, more in zip(self.since, sample["plane_rx_packets"])]
        condition, action = self.plan[0]
        holds = condition(self.since)
        if holds:
            self.plan.pop(0)
            action(process)
        if holds is not False:
            self.since = None


def all_carry(since):
    return min(since) >= ENOUGH


def all_but(plane):
    def condition(since):
        others = [count for index, count in enumerate(since) if index != plane]
        return None if since[plane] else min(others) >= ENOUGH
    return condition


def peer_planes(fabric, host, peer_address):
    """The planes on which `host` believes this peer to be reachable."""
    return host_maps(f"{fabric.prefix}-{host}").peer(peer_address)["plane_mask"]


def leave_and_return(fabric, host, port):
    """Into a namespace of its own and back, up again, with the addresses that it had: what configures a host's network
    does that."""
    away = f"{fabric.prefix}-away"
    known = json.loads(fabric.inside(host, "ip", "-j", "address", "show", "dev", port))[0]["addr_info"]
    subprocess.run(["ip", "netns", "add", away], check=True)
    try:
        fabric.inside(host, "ip", "link", "set", port, "netns", away)
        fabric.inside("away", "ip", "link", "set", port, "netns", f"{fabric.prefix}-{host}")
        fabric.inside(host, "ip", "link", "set", port, "up")
        for address in (each for each in known if each["scope"] == "global"):
            fabric.inside(host, "ip", "address", "add", f"{address['local']}/{address['prefixlen']}", "dev", port,
                          "nodad")
    finally:
        subprocess.run(["ip", "netns", "del", away], check=True)


def index_of(fabric, host, port):
    return json.loads(fabric.inside(host, "ip", "-j", "link", "show", port))[0]["ifindex"]


def check_that_returns(fabric):
    """A port that was in another network namespace meanwhile."""
    maps = host_maps(f"{fabric.prefix}-h0")
    before = index_of(fabric, "h0", "p3")
    leave_and_return(fabric, "h0", "p3")
    check(index_of(fabric, "h0", "p3") == before, "p3 has left and come back under its index")
    check(wait_until(lambda: any("port p3" in line and "taken in" in line for line in fabric.log_lines("h0", "info")),
                     DEADLINE_S), "it is taken in")
    check(wait_until(lambda: maps.row("host", 0)["plane_mask"] == 0b1111, DEADLINE_S), "its plane is in use again")
    client, server, _ = transfer(fabric, "-n", "200", "-s", "64K", "--verify")
    check(client.status == 0 and server["verified"] is True and client.report["plane_rx_packets"][3] > 0,
          f"and carries data {client.report['plane_rx_packets']}")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    with lab("ports", "--planes", str(PLANES)) as fabric:
        address = {host["name"]: host["mrc_address"] for host in fabric.status()["hosts"]}
        seen = {}

        def link(host, port, state, note=None):
            def action(_process):
                if note:
                    seen[note] = peer_planes(fabric, "h0", address["h1"])
                fabric.inside(host, "ip", "link", "set", port, state)
            return action

        def stop(process):
            # Packets were lost there before the receiver said why: the plane is probed, and told of within 100 ms.
            seen["at last"] = wait_until(lambda: peer_planes(fabric, "h0", address["h1"]) == 0b1111, DEADLINE_S)
            process.send_signal(signal.SIGINT)

        walk = steps([(all_carry, link("h0", "p1", "down")),
                      (all_but(1), link("h0", "p1", "up", "after the sender's")),
                      (all_carry, link("h1", "p2", "down")),
                      (all_but(2), link("h1", "p2", "up", "after the receiver's")),
                      (all_carry, stop)])
        client, server, _ = transfer(fabric, *STEADY, "-D", str(50 * TIME_SCALE), "--verify", on_sample=walk)
        report = client.report
        print(f"   {report['bytes']} bytes, longest stall {report['max_stall_us']:.0f} us, "
              f"{report['retransmits']} sent again, planes {report['plane_rx_packets']}")
        check(not walk.plan, f"each port went out of use and came back ({len(walk.plan)} steps left)")
        check(client.status == 130 and not client.complaints, f"no end failed {client.complaints}")
        check(report["verified"] is True and server["verified"] is True, "every byte is right")
        check(report["max_stall_us"] < LONGEST_STALL_S * 1e6, "and none waited long")
        check(seen["after the sender's"] == 0b1111, "the sender's own port says nothing about the receiver")
        check(seen["after the receiver's"] == 0b1011, "the receiver's port was told to the sender")
        check(seen["at last"], "and its return, too")
        check_that_returns(fabric)


if __name__ == "__main__":
    main()
