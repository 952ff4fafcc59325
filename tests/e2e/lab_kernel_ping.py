#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pings between two hosts over every (plane, spine) path of the kernel's own seg6local switches.

Nothing of ours forwards, pushes or pops here: encapsulation is the hosts' seg6 route, decapsulation their End.DT6.
Each switch's End counter shows that a path is the one that the carrier names, there and back.
"""

import re

from lab_support import check, lab, need_root

PLANES, LEAVES, SPINES = 4, 2, 2
PINGS = 3
# Link MTU less outer header, the SRH that the kernel's seg6 reserves room for and encap.red leaves out, inner header,
# ICMPv6.
FULL_SIZE = 3400 - 40 - 24 - 40 - 8


def usid(role, plane, index):
    return f"{role << 12 | plane << 8 | index:x}"


def set_up_host(fabric, name, address, leaf):
    """Kernel decapsulation of this host's uSIDs, and a way to its leaf on every plane."""
    fabric.inside(name, "ip", "address", "add", f"{address}/128", "dev", "lo")
    for plane in range(PLANES):
        own = f"fcbb:bb00:{usid(8, plane, 0)}::/48"
        # A plain End.DT6 in the main table does not fire for a packet that came as transit.
        fabric.inside(name, "ip", "-6", "rule", "add", "priority", "50", "to", own, "lookup", "100")
        fabric.inside(name, "ip", "-6", "route", "add", own, "table", "100", "encap", "seg6local", "action", "End.DT6",
                      "table", "255", "dev", f"p{plane}")
        fabric.inside(name, "ip", "-6", "route", "add", f"fcbb:bb00:{usid(2, plane, leaf)}::/48", "via", "fe80::1",
                      "dev", f"p{plane}")


def use_path(fabric, name, leaf, peer_address, peer_leaf, plane, spine):
    carrier = ":".join([usid(2, plane, leaf), usid(1, plane, spine), usid(2, plane, peer_leaf), usid(8, plane, 0)])
    fabric.inside(name, "ip", "-6", "route", "replace", peer_address, "encap", "seg6", "mode", "encap.red", "segs",
                  f"fcbb:bb00:{carrier}::", "dev", f"p{plane}")


def passed(fabric):
    """Packets that each switch has shifted."""
    counts = {}
    for plane in range(PLANES):
        for tier, size in ((0, LEAVES), (1, SPINES)):
            for index in range(size):
                name = f"p{plane}t{tier}-{index}"
                shown = fabric.inside(name, "ip", "-s", "-6", "route", "show",
                                      f"fcbb:bb00:{usid(2 - tier, plane, index)}::/48")
                counts[name] = int(re.search(r"packets (\d+)", shown).group(1))
    return counts


def check_path(fabric, hosts, plane, spine):
    h0, h1 = hosts
    use_path(fabric, "h0", 0, h1, 1, plane, spine)
    use_path(fabric, "h1", 1, h0, 0, plane, spine)
    before = passed(fabric)
    fabric.inside("h0", "ping", "-6", "-c", str(PINGS), "-i", "0.01", "-W", "2", "-I", h0, "-M", "do",
                  "-s", str(FULL_SIZE), h1)
    after = passed(fabric)
    moved = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    path = {name: 2 * PINGS for name in (f"p{plane}t0-0", f"p{plane}t1-{spine}", f"p{plane}t0-1")}
    check(moved == path, f"plane {plane}, spine {spine}: {2 * PINGS} packets through {', '.join(path)} and no other"
          + ("" if moved == path else f", but seen: {moved}"))


def main():
    need_root()
    with lab("ping", "--switch", "kernel", "--no-daemons", "--planes", str(PLANES), "--leaves", str(LEAVES),
             "--spines", str(SPINES), "--hosts", "2") as fabric:
        hosts = [host["mrc_address"] for host in fabric.status()["hosts"]]
        for leaf, address in enumerate(hosts):
            set_up_host(fabric, f"h{leaf}", address, leaf)
        for plane in range(PLANES):
            for spine in range(SPINES):
                check_path(fabric, hosts, plane, spine)


if __name__ == "__main__":
    main()
