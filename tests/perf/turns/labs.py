# SPDX-License-Identifier: Apache-2.0
"""The labs that runs take place in: four planes of XDP switches, the same MTU on every wire. One at a time, because
several share the kernel's XDP dispatcher, whose users wait for each other (tests/e2e/xdp_dispatcher.py)."""

import contextlib
import os
import sys

from lab_embedded import embedding_lab
from lab_kernel_hosts import set_up_hosts, usid
from lab_support import lab

PLANES = 4
FIRST_SPINE = 0
FIRST_TABLE = 200  # of routes by a source's plane


class place:
    """A lab under way: `fabric`, and for those that load a second one, `other`."""

    def __init__(self, fabric, other=None):
        self.fabric, self.other = fabric, other


def plane_address(plane, host):
    return f"fd00:{plane + 1:x}::{host + 1:x}"


def path_of(plane, own, peer):
    """The uSIDs from a host to another, by the first spine where they have different leaves."""
    usids = [usid(2, plane, own["leaf"])]
    if own["leaf"] != peer["leaf"]:
        usids += [usid(1, plane, FIRST_SPINE), usid(2, plane, peer["leaf"])]
    return ":".join([*usids, usid(8, plane, peer["downlink"])])


def pushed(destination, plane, own, peer):
    """What `ip -6 route add` takes to send to an address by a plane."""
    return f"{destination} encap seg6 mode encap.red segs fcbb:bb00:{path_of(plane, own, peer)}:: dev p{plane}"


def set_up_planes(fabric, joined_from):
    """Hosts without mrcd, with an address in each plane, whose packets the kernel pushes and pops
    (lab_kernel_hosts.py); MPTCP may have a subflow by each: "far", to the addresses that h1 offers; "near", from each
    of the connecting host's to the one address that the other listens at, as Gloo does."""
    hosts = set_up_hosts(fabric)
    for number, (name, own) in enumerate(hosts.items()):
        peers = [(other, peer) for other, peer in enumerate(hosts.values()) if other != number]
        commands = [f"ip mptcp limits set subflows {PLANES} add_addr_accepted {PLANES}"]
        for plane in range(PLANES):
            address = plane_address(plane, number)
            commands.append(f"ip address add {address}/128 dev lo nodad")  # a source at once
            commands += [f"ip -6 route add {pushed(plane_address(plane, other), plane, own, peer)} src {address}"
                         for other, peer in peers]
            if plane and joined_from == "near":
                table = FIRST_TABLE + plane
                commands += [f"ip -6 rule add from {address} lookup {table}",
                             f"ip mptcp endpoint add {address} subflow",
                             *(f"ip -6 route add {pushed(plane_address(0, other), plane, own, peer)} table {table}"
                               for other, peer in peers)]
            elif plane and number:
                commands.append(f"ip mptcp endpoint add {address} signal")
        fabric.inside(name, "sh", "-ec", "\n".join(commands))


@contextlib.contextmanager
def with_mrcd(engine, build=None, hosts=2, config="", fabric=("--ipv4",)):
    """`build`: (directory of binaries, ring_packets or ""). `config`: of each mrcd, besides. `fabric`: options of the
    lab."""
    directory, ring_packets = build or (None, "")
    config += f"[transmit]\nring_packets = {ring_packets}\n" if ring_packets else ""
    before = os.environ.get("MRC_BIN")
    if directory:
        os.environ["MRC_BIN"] = directory
    try:
        with lab(f"turns-{engine[0]}", "--planes", str(PLANES), "--engine", engine, "--hosts", str(hosts), *fabric,
                 config=config) as running:
            yield place(running)
    finally:
        if directory:
            os.environ.pop("MRC_BIN")
            if before is not None:
                os.environ["MRC_BIN"] = before


@contextlib.contextmanager
def inside_programs():
    """No mrcd: each end of mrc-perf is one itself."""
    with with_mrcd("xdp") as at, contextlib.redirect_stdout(sys.stderr):
        yield place(embedding_lab(at.fabric))


@contextlib.contextmanager
def by_kernel(hosts=2, joined_from="far"):
    with lab("turns-k", "--planes", str(PLANES), "--no-daemons", "--hosts", str(hosts)) as fabric:
        set_up_planes(fabric, joined_from)
        yield place(fabric)


@contextlib.contextmanager
def two():
    """With mrcd, and smaller, so that both leave each other places of the dispatcher."""
    shape = ("--planes", "2", "--spines", "2")
    with lab("turns-n", *shape) as near, lab("turns-f", *shape) as far:
        yield place(near, far)
