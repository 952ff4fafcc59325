#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Direct mode, one case of the table a run: on cables, on an Ethernet bridge per plane, behind routers with ECMP. Files
arrive whole by all planes and EVs, planes are cut and come back, neighbours are found, change and go. Every case ends
with nothing left behind."""

import json
import re
import signal
import sys

import overlay
from lab_support import DEADLINE_S, DEBUG_LOG, TIME_SCALE, check, lab, left_behind, need_binaries, need_root
from own_host import check_own_host
from pinned_maps import host_maps
from ports import all_but, all_carry, steps
from transfer_support import STEADY, transfer, wait_until
from transfer_test import check_all_planes, check_file

PLANES = 4
PATHS = 16  # mrcd's default: EVs per plane
SPINES = 2
CUT = 1
# Of struct mrc_next_hop_row: those of all ports come first.
FIRST_NEXT_HOP, PORTS = 8, 8


def maps_of(fabric, host):
    return host_maps(f"{fabric.prefix}-{host}")


def check_ready(fabric):
    """Nobody has pinged anybody: the daemons find their neighbours themselves."""
    everything = (1 << PLANES) - 1
    for name in fabric.host_names():
        check(wait_until(lambda maps=maps_of(fabric, name): maps.row("host", 0)["plane_mask"] == everything,
                         DEADLINE_S), f"{name} has found a neighbour on each plane")


def check_entropy(fabric, bits):
    """What arrived at h1 was spread over all EVs: over so many UDP source ports and, in IPv6, flow labels."""
    maps = maps_of(fabric, "h1")
    rows, signals = maps.rows("paths"), maps.rows("signals")
    peer = maps.peer(fabric.host("h0")["mrc_address"])
    for plane in range(PLANES):
        numbers = maps.paths_to(fabric.host("h0")["mrc_address"], plane)
        check(len(numbers) == PATHS == peer["uplinks"], f"plane {plane} has {PATHS} paths")
        check(all(signals[number]["packets"] > 0 for number in numbers), "packets came on each of them")
        evs = [rows[number]["ev"] for number in numbers]
        check(len({ev & 0xffff for ev in evs}) == PATHS, "each has a UDP source port of its own")
        check(all(ev >> bits == 0 for ev in evs), f"EVs have {bits} bits")


def plain(fabric, bits=32):
    report = check_file(fabric)
    check(report["payload_bytes"] == 3072, "payload is 3072 bytes on links of 3400")
    check_all_planes(fabric, report)
    check_entropy(fabric, bits)
    counters = maps_of(fabric, "h1").verdicts()
    check(counters["MRC_RX_STEERED"] > 0 and not any(
        count for name, count in counters.items() if "_DROP_" in name and name.startswith("MRC_RX")),
          "the receiver's program dropped nothing")


def plain_ipv4(fabric):
    check(re.fullmatch(r"10\.\d+\.\d+\.\d+", fabric.host("h1")["mrc_address"]), "hosts are known by IPv4 addresses")
    plain(fabric, bits=16)


def walk(fabric):
    """A plane is cut in the middle of a run and comes back; every byte is verified."""
    def plane(state):
        return lambda _process: fabric.run("plane", str(CUT), state)

    plan = steps([(all_carry, plane("down")), (all_but(CUT), plane("up")),
                  (all_carry, lambda process: process.send_signal(signal.SIGINT))])
    client, server, _ = transfer(fabric, *STEADY, "-D", str(50 * TIME_SCALE), "--verify", on_sample=plan)
    report = client.report
    print(f"   {report['bytes']} bytes, longest stall {report['max_stall_us']:.0f} us, "
          f"{report['retransmits']} sent again, planes {report['plane_rx_packets']}")
    check(not plan.plan, f"the plane went out of use and came back ({len(plan.plan)} steps left)")
    check(client.status == 130 and not client.complaints, f"no end failed {client.complaints}")
    check(report["verified"] is True and server["verified"] is True, "every byte is right")


def next_hop(fabric, host, peer, plane):
    """The MAC address that a host's frames to a peer have on a plane; None: not known."""
    order = fabric.host_names()
    row = maps_of(fabric, host).row("next_hops", FIRST_NEXT_HOP + order.index(peer) * PORTS + plane)
    return ":".join(f"{byte:02x}" for byte in row["mac"]) if row["resolved"] else None


def mac_of(fabric, host, port):
    return json.loads(fabric.inside(host, "ip", "-j", "link", "show", port))[0]["address"]


def hasten_neighbours(fabric, host, plane, peers):
    """The kernel takes half a minute to doubt a neighbour; here it takes a second, from when it meets it anew."""
    folder = f"/proc/sys/net/ipv6/neigh/p{plane}"
    for name, value in (("base_reachable_time_ms", 500), ("delay_first_probe_time", 1), ("retrans_time_ms", 100)):
        fabric.inside(host, "sh", "-c", f"echo {value} >{folder}/{name}")
    for peer in peers:
        fabric.inside(host, "ip", "neigh", "del", fabric.host(peer)["plane_addresses"][plane], "dev", f"p{plane}")


def several_neighbours(fabric):
    """Three hosts on each plane: each has its own MAC address, which may change, and any of them may go."""
    for peer in ("h1", "h2"):
        for plane in range(PLANES):
            check(wait_until(lambda peer=peer, plane=plane:
                             next_hop(fabric, "h0", peer, plane) == mac_of(fabric, peer, f"p{plane}"), DEADLINE_S),
                  f"h0 sends to {peer} on plane {plane} by its own MAC address")
    # The kernel tells others of a new address by itself when asked to (RFC 4861 section 7.2.6).
    fabric.inside("h1", "sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/p1/ndisc_notify")
    fabric.inside("h1", "ip", "link", "set", "p1", "address", "02:99:00:00:00:01")
    check(wait_until(lambda: next_hop(fabric, "h0", "h1", 1) == "02:99:00:00:00:01", DEADLINE_S),
          "a new MAC address is followed")
    client, server, _ = transfer(fabric, "-n", "100", "-s", "64K", "--verify")
    check(client.status == 0 and server["verified"] is True and client.report["plane_rx_packets"][1] > 0,
          f"and carries data {client.report['plane_rx_packets']}")
    hasten_neighbours(fabric, "h0", 1, ("h1", "h2"))
    check(wait_until(lambda: all(next_hop(fabric, "h0", peer, 1) for peer in ("h1", "h2")), DEADLINE_S),
          "neighbours that the kernel forgets are found anew")
    fabric.run("link", "h2", "p1t0-0", "down", "--carrier")
    check(wait_until(lambda: next_hop(fabric, "h0", "h2", 1) is None, DEADLINE_S),
          "a neighbour that is gone is noticed")
    check(next_hop(fabric, "h0", "h1", 1) is not None, "the others on the plane stay")
    check(maps_of(fabric, "h0").row("host", 0)["plane_mask"] == (1 << PLANES) - 1, "and the plane stays in use")
    fabric.run("link", "h2", "p1t0-0", "up")
    check(wait_until(lambda: next_hop(fabric, "h0", "h2", 1) == mac_of(fabric, "h2", "p1"), DEADLINE_S),
          "it is found again when it is back")


def carried_up(fabric, plane):
    """Packets that h0's leaf has sent to each spine of a plane."""
    links = json.loads(fabric.inside(f"p{plane}t0-0", "ip", "-j", "-s", "link"))
    return {link["ifname"]: link["stats64"]["tx"]["packets"] for link in links if link["ifname"].startswith("u")}


def ecmp(fabric):
    """Routers hash the EVs: every spine of every plane has its share."""
    before = [carried_up(fabric, plane) for plane in range(PLANES)]
    plain(fabric, bits=16 if fabric.status()["hosts"][0]["mrc_address"].startswith("10.") else 32)
    for plane in range(PLANES):
        after = carried_up(fabric, plane)
        moved = {name: after[name] - before[plane][name] for name in after}
        check(len(moved) == SPINES and min(moved.values()) > 500, f"plane {plane} used each of its spines: {moved}")
    leaf = {plane: mac_of(fabric, f"p{plane}t0-0", "d0") for plane in range(PLANES)}
    check(all(next_hop(fabric, "h0", "h1", plane) == leaf[plane] for plane in leaf), "the next hop is the leaf")


def sockets(fabric):
    """Ordinary sockets over mrcnet0, which leave a plane that is cut silently."""
    target = overlay.target_host(fabric, False)
    target.addresses = [target.address]  # the planes' addresses are the kernel's, and stay on their planes
    overlay.check_pings(fabric, target)
    overlay.check_mrc_from_sockets(fabric, target, False)
    echo = overlay.started(fabric, "h1", "listening", sys.executable, "-c", overlay.ECHO_SERVER, target.address)
    try:
        overlay.check_connections(fabric, target, "with all planes")
        overlay.check_plane_loss(fabric, target)
    finally:
        echo.kill()
        echo.wait()


def idle(fabric):
    """Nothing but the overlay's probes: answers come back at once although no program sits on the bridge's ports."""
    h0 = maps_of(fabric, "h0")
    fabric.inside("h0", "ping", "-q", "-c", "1", "-W", "5", fabric.host("h1")["mrc_address"])
    accepted = h0.verdicts()["MRC_AGENT_ACCEPTED"]
    check(wait_until(lambda: h0.verdicts()["MRC_AGENT_ACCEPTED"] >= accepted + PLANES * PATHS, DEADLINE_S),
          "each path was asked and has answered")
    check(fabric.retirements("h0") == [], "none was taken for dead")


def small_mtu(fabric):
    report = check_file(fabric)
    check(report["payload_bytes"] == 1408, "payload is 1408 bytes on links of 1500: 92 less, and whole multiples of 64")


# name: (the case, options of `up`)
CASES = {
    "cable_own_host": (check_own_host, ("--fabric", "direct")),
    "cable_ipv4_own_host": (check_own_host, ("--fabric", "direct", "--ipv4")),
    "cable_xdp": (plain, ("--fabric", "direct", "--engine", "xdp")),
    "cable_af_xdp": (plain, ("--fabric", "direct", "--engine", "af_xdp")),
    "cable_mtu_1500": (small_mtu, ("--fabric", "direct", "--mtu", "1500")),
    "cable_lost": (walk, ("--fabric", "direct")),
    "bridge": (plain, ("--fabric", "bridge", "--hosts", "3")),
    "bridge_silent": (walk, ("--fabric", "bridge", "--hosts", "3")),
    "bridge_neighbours": (several_neighbours, ("--fabric", "bridge", "--hosts", "3")),
    "bridge_overlay": (sockets, ("--fabric", "bridge", "--hosts", "3")),
    "bridge_idle": (idle, ("--fabric", "bridge", "--hosts", "3")),
    "router": (ecmp, ("--fabric", "router", "--spines", str(SPINES))),
    "router_silent": (walk, ("--fabric", "router", "--spines", str(SPINES))),
    "cable_ipv4": (plain_ipv4, ("--fabric", "direct", "--ipv4")),
    "bridge_ipv4": (plain_ipv4, ("--fabric", "bridge", "--ipv4", "--hosts", "3")),
    "router_ipv4": (ecmp, ("--fabric", "router", "--ipv4", "--spines", str(SPINES))),
}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: direct.py CASE; cases: {', '.join(CASES)}")
    need_root()
    need_binaries("mrcd", "mrc-perf")
    case, options = CASES[sys.argv[1]]
    with lab("direct", "--planes", str(PLANES), *options, config=DEBUG_LOG) as fabric:
        check_ready(fabric)
        case(fabric)
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
