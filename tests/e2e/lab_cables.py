#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A lab in two parts, as on two machines: all switches and h0 in one, h1 in the other, and between them a cable per
plane, whose ends are network devices that were there before. They are one fabric, a plane of it is cut and comes
back, and the devices are given back as they were."""

import contextlib
import json
import os
import subprocess

from lab_support import check, lab, left_behind, mrc_lab, need_binaries, need_root
from plane_walk import cut_and_restore
from transfer_support import transfer

PLANES = 2
SHAPE = ("--planes", str(PLANES), "--leaves", "2", "--spines", "1", "--hosts", "2")
SWITCHES = [f"p{plane}t{tier}-{index}" for plane in range(PLANES) for tier, index in ((0, 0), (0, 1), (1, 0))]


def devices():
    """Of this namespace, by name: what a lab may have changed."""
    links = json.loads(subprocess.run(["ip", "-json", "link"], capture_output=True, check=True).stdout)
    return {link["ifname"]: (link["address"], link["mtu"], link.get("master")) for link in links}


@contextlib.contextmanager
def cables():
    """Veth pairs here: [(the switches' end, h1's end), …]."""
    pairs = [(f"ca{plane}-{os.getpid()}", f"cb{plane}-{os.getpid()}") for plane in range(PLANES)]
    made = []
    try:
        for one, other in pairs:
            subprocess.run(["ip", "link", "add", one, "type", "veth", "peer", other], check=True)
            made.append(one)
        yield pairs
    finally:
        for one in made:
            subprocess.run(["ip", "link", "delete", one], check=True)


def cable_arguments(port_of, ends):
    return [text for plane, end in enumerate(ends) for text in ("--device", f"{port_of(plane)}={end}")]


def check_refusals(ends):
    near = f"none-{os.getpid()}"
    for arguments, complaint in (
            (("--device", f"h1:p0={ends[0]}"), "p0t0-1:d0 is the other end of a cable"),
            (("--here", "h0"), "h0:p0 leads to another machine"),
            (("--here", "h7"), "no node 'h7'"),
            (("--device", "h1:p0"), "NODE:PORT=DEVICE"),
            (("--device", "h1:p9=lo"), "no port 'h1:p9'"),
            (("--here", "h1", "--device", "h1:p0=absent", "--device", f"h1:p1={ends[1]}"),
             "no network device 'absent'")):
        _, said = mrc_lab("up", "--prefix", near, *SHAPE, *arguments, status=1)
        check(complaint in said, f"{' '.join(arguments)}: {said.strip()}")
    check(left_behind(near) == [], "a refused lab leaves nothing behind")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    with cables() as pairs:
        before = devices()
        check_refusals([other for _, other in pairs])
        here = cable_arguments(lambda plane: f"p{plane}t0-1:d0", [one for one, _ in pairs])
        there = cable_arguments(lambda plane: f"h1:p{plane}", [other for _, other in pairs])
        with lab("near", *SHAPE, "--here", ",".join(["h0", *SWITCHES]), *here) as near, \
                lab("far", *SHAPE, "--here", "h1", *there) as far:
            check([host["name"] for host in near.status()["hosts"]] == ["h0"], "each part has its own nodes")
            walk = cut_and_restore(near, far.host("h1")["mrc_address"])
            client, server, _ = transfer(near, "-D", "40", "--verify", on_sample=walk, far=far)
            check(not walk.steps, f"the transfer lived through all of it ({len(walk.steps)} steps left)")
            check(client.status == 130 and not client.complaints, f"no end failed {client.complaints}")
            check(client.report["verified"] is True and server["verified"] is True, "every byte is right")
            near.run("link", "p1t0-1", "h1", "down")
            client, _, _ = transfer(near, "-n", "20", "-s", "64K", "--verify", far=far)
            check(client.status == 0 and client.report["plane_rx_packets"][1] == 0, "without one cable, by the other")
        check(devices() == before, "the devices are back as they were")
        for one in (near, far):
            check(left_behind(one.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
