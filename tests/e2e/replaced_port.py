#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A port's device is deleted while bytes flow, and another of its name, with another MAC address, takes its place: mrcd
takes it in and uses its plane again, without a restart. One that is missing when mrcd starts is left out, and taken in
when it appears; with none there it waits for the first. With either transmit engine."""

import contextlib
import dataclasses
import os
import pathlib
import signal

from lab_support import DEADLINE_S, TIME_SCALE, check, lab, need_binaries, need_root
from pinned_maps import host_maps
from ports import all_but, all_carry, steps
from restart_after_kill import started
from transfer_support import STEADY, transfer, wait_until

from lab import namespaces, processes
from lab.fabrics import fabric as fabric_of
from lab.state import lab_directory

PLANES = 3
ALL = (1 << PLANES) - 1
BOUND_S = 5 * TIME_SCALE  # from a device with carrier to a plane that carries data


class cable:
    """The link of h0's port to its leaf, as the lab made it. The leaf is the kernel's, and minds no new device; but an
    answer by XDP_TX wakes only a veth with a program, which the leaf's mrc-switch has on it."""

    def __init__(self, running, plane):
        self.prefix, self.running = running.prefix, running
        with lab_directory(running.prefix) as directory:
            self.shape = fabric_of(directory.load().options)
        self.leaf = self.shape.switch(f"p{plane}t0-{self.shape.hosts['h0'].leaf}")
        link = self.shape.link("h0", self.leaf.name)
        self.port, self.upper = link.lower, link.upper

    def remove(self):
        self.running.inside("h0", "ip", "link", "del", self.port.device)

    def replace(self, mac):
        """Another pair of devices, whose lower end has this address."""
        fresh = dataclasses.replace(self.port, mac=mac)
        leaf_end = dataclasses.replace(self.upper, peer=fresh)
        runner = namespaces.namespace_runner(lab_directory(self.prefix))
        mtu = self.running.status()["mtu"]
        ends = [f"name {end.device} netns {namespaces.name_of(self.prefix, end.node)} address {end.mac} mtu {mtu} "
                "numtxqueues 1 numrxqueues 1" for end in (fresh, leaf_end)]
        runner.batch([f"link add {ends[0]} type veth peer {ends[1]}"])
        self.restart_switch()
        for end in (leaf_end, fresh):
            runner.script(end.node, self.shape.port_lines(end) + namespaces.offload_lines(end, end is fresh))

    def restart_switch(self):
        with lab_directory(self.prefix) as directory:
            state = directory.load()
            pid = state.processes[self.leaf.name]["pid"]
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not processes.is_alive(state.processes[self.leaf.name]), DEADLINE_S)
            processes.start_daemons(directory, state, fabric_of(state.options), [self.leaf.name])


def device_of(running, port):
    text = running.inside("h0", "ip", "-o", "link", "show", port)
    return int(text.split(":")[0]), text.split("link/ether ")[1].split()[0]


def check_replaced(running):
    cut = cable(running, 1)
    before = device_of(running, "p1")
    maps = host_maps(f"{running.prefix}-h0")

    def remove(_process):
        cut.remove()

    def replace(_process):
        cut.replace("02:00:00:00:00:77")

    walk = steps([(all_carry, remove), (all_but(1), replace),
                  (all_carry, lambda process: process.send_signal(signal.SIGINT))])
    client, server, _ = transfer(running, *STEADY, "-D", str(40 * TIME_SCALE), "--verify", on_sample=walk)
    print(f"   {client.report['bytes']} bytes, longest stall {client.report['max_stall_us']:.0f} us, "
          f"planes {client.report['plane_rx_packets']}")
    check(not walk.plan, f"the plane was left, and used again ({len(walk.plan)} steps left)")
    check(client.status == 130 and not client.complaints, f"no end failed {client.complaints}")
    check(client.report["verified"] is True and server["verified"] is True, "every byte is right")
    now = device_of(running, "p1")
    check(now[0] != before[0] and now[1] == "02:00:00:00:00:77", f"p1 is another device now {before} {now}")
    row = maps.row("ports", 1)
    check(row["ifindex"] == now[0] and row["reason"] == "MRC_PORT_IN_USE", "its row names it, and says that it is used")
    check(any("taken in" in line and "p1" in line for line in running.log_lines("h0", "info")), "the log says so")


def check_many(running):
    """Packet memory comes back with each device: what was lent to the old one's sockets is not lost."""
    cut = cable(running, 2)
    maps = host_maps(f"{running.prefix}-h0")
    for count in range(6):
        cut.remove()
        check(wait_until(lambda: maps.row("host", 0)["plane_mask"] == ALL & ~0b100, DEADLINE_S), f"p2 goes, {count}")
        cut.replace(f"02:00:00:00:01:{count:02x}")
        check(wait_until(lambda: maps.row("host", 0)["plane_mask"] == ALL, BOUND_S), "and its plane is back in time")
    client, server, _ = transfer(running, "-n", "200", "-s", "64K", "--verify")
    check(client.status == 0 and server["verified"] is True, f"it transfers {client.complaints}")
    check(min(client.report["plane_rx_packets"]) > 0, f"on all planes {client.report['plane_rx_packets']}")


def end_daemon(running):
    pid = next(host["pid"] for host in running.status()["hosts"] if host["name"] == "h0")
    process = os.pidfd_open(pid)
    os.kill(pid, signal.SIGTERM)
    with contextlib.closing(os.fdopen(process)):
        check(wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), DEADLINE_S), "mrcd ends")


def config_of(running):
    return f"/run/mrc-lab/{running.prefix}/config/h0.toml"


def check_missing_at_start(running):
    cut = cable(running, 0)
    cut.remove()
    with started(running, config_of(running)) as (_, said):
        check(wait_until(lambda: "READY" in said(), DEADLINE_S), "mrcd starts without the device of its first port")
        maps = host_maps(f"{running.prefix}-h0")
        check(maps.row("host", 0)["plane_mask"] == ALL & ~0b001, "and uses the others")
        check("port p0 (plane 0): out of use, missing: it is taken in when the device appears" in said(),
              "it warns of the one that is missing")
        client, server, _ = transfer(running, "-n", "50", "-s", "64K", "--verify")
        check(client.status == 0 and server["verified"] is True, f"it transfers {client.complaints}")
        check(client.report["plane_rx_packets"][0] == 0, "on the planes that there are")
        cut.replace("02:00:00:00:02:00")
        check(wait_until(lambda: maps.row("host", 0)["plane_mask"] == ALL, BOUND_S), "the device appears: it is used")
        walk = steps([(all_carry, lambda process: process.send_signal(signal.SIGINT))])
        client, server, _ = transfer(running, "-D", str(20 * TIME_SCALE), "--verify", on_sample=walk)
        check(not walk.plan and server["verified"] is True, f"by data as well {client.report['plane_rx_packets']}")


def check_none_at_start(running):
    cables = [cable(running, plane) for plane in range(PLANES)]
    for each in cables:
        each.remove()
    with started(running, config_of(running)) as (_, said):
        check(wait_until(lambda: "waiting for a port: p0, p1, p2 are not there" in said(), DEADLINE_S),
              f"mrcd waits for its ports {said()}")
        there = 0
        for plane in (1, 2, 0):
            cables[plane].replace(f"02:00:00:00:03:{plane:02x}")
            there |= 1 << plane
            check(wait_until(lambda: "READY" in said(), DEADLINE_S), f"it serves with p{plane} {said()}")
            maps = host_maps(f"{running.prefix}-h0")
            check(wait_until(lambda maps=maps, there=there: maps.row("host", 0)["plane_mask"] == there, DEADLINE_S),
                  "and uses it")
            client, server, _ = transfer(running, "-n", "200", "-s", "64K", "--verify")
            check(client.status == 0 and server["verified"] is True, f"it transfers {client.complaints}")
            used = client.report["plane_rx_packets"][:PLANES]
            check([count > 0 for count in used] == [bool(there >> each & 1) for each in range(PLANES)],
                  f"by all planes that there are {used}")
        check(client.report["payload_bytes"] == 3072, "packets are as long as the first port's MTU allows")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    for engine in ("xdp", "af_xdp"):
        print(f"transmit engine {engine}:")
        with lab("replaced", "--planes", str(PLANES), "--spines", "2", "--switch", "kernel", "--engine",
                 engine) as running:
            check_replaced(running)
            check_many(running)
            end_daemon(running)
            check_missing_at_start(running)
            check_none_at_start(running)


if __name__ == "__main__":
    main()
