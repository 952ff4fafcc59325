# SPDX-License-Identifier: Apache-2.0
"""The labs that runs take place in: four planes of XDP switches, the same MTU on every wire. One at a time, because
several share the kernel's XDP dispatcher, whose users wait for each other (tests/e2e/xdp_dispatcher.py)."""

import contextlib
import os

from lab_kernel_hosts import set_up_hosts, usid
from lab_support import lab

PLANES = 4
FIRST_SPINE = 0


class place:
    """A lab under way: `fabric`, and for those that load a second one, `other`."""

    def __init__(self, fabric, other=None):
        self.fabric, self.other = fabric, other


def plane_address(plane, host):
    return f"fd00:{plane + 1:x}::{host + 1:x}"


def set_up_planes(fabric):
    """Hosts without mrcd, with an address in each plane, whose packets the kernel pushes and pops
    (lab_kernel_hosts.py); MPTCP may have a subflow by each."""
    hosts = set_up_hosts(fabric)
    names = ("h0", "h1")
    for number, name in enumerate(names):
        own, peer = hosts[name], hosts[names[1 - number]]
        commands = [f"ip mptcp limits set subflows {PLANES} add_addr_accepted {PLANES}"]
        for plane in range(PLANES):
            path = ":".join([usid(2, plane, own["leaf"]), usid(1, plane, FIRST_SPINE), usid(2, plane, peer["leaf"]),
                             usid(8, plane, peer["downlink"])])
            address = plane_address(plane, number)
            commands += [
                f"ip address add {address}/128 dev lo nodad",  # a source at once
                f"ip -6 route add {plane_address(plane, 1 - number)} encap seg6 mode encap.red segs "
                f"fcbb:bb00:{path}:: dev p{plane} src {address}"]
            if number and plane:  # the far end offers the other planes, and the near end joins by each
                commands.append(f"ip mptcp endpoint add {address} signal")
        fabric.inside(name, "sh", "-ec", "\n".join(commands))


@contextlib.contextmanager
def with_mrcd(engine, build=None):
    """`build`: (directory of binaries, ring_packets or "")."""
    directory, ring_packets = build or (None, "")
    config = f"[transmit]\nring_packets = {ring_packets}\n" if ring_packets else ""
    before = os.environ.get("MRC_BIN")
    if directory:
        os.environ["MRC_BIN"] = directory
    try:
        with lab(f"turns-{engine[0]}", "--planes", str(PLANES), "--engine", engine, "--ipv4", config=config) as fabric:
            yield place(fabric)
    finally:
        if directory:
            os.environ.pop("MRC_BIN")
            if before is not None:
                os.environ["MRC_BIN"] = before


@contextlib.contextmanager
def by_kernel():
    with lab("turns-k", "--planes", str(PLANES), "--no-daemons") as fabric:
        set_up_planes(fabric)
        yield place(fabric)


@contextlib.contextmanager
def two():
    """With mrcd, and smaller, so that both leave each other places of the dispatcher."""
    shape = ("--planes", "2", "--spines", "2")
    with lab("turns-n", *shape) as near, lab("turns-f", *shape) as far:
        yield place(near, far)
