#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pings over every path of the kernel's own seg6local switches: each (plane, spine), and each plane within a leaf.

Nothing of ours forwards, pushes or pops here: encapsulation is the hosts' seg6 route, decapsulation their End.DT6.
Each switch's End counter shows that a path is the one that the carrier names, there and back.
"""

import re

from lab_kernel_hosts import set_up_hosts, use_path_both_ways
from lab_support import check, lab, need_root

PLANES, SPINES = 4, 2
PINGS = 3
# Link MTU less outer header, the SRH that the kernel's seg6 reserves room for and encap.red leaves out, inner header,
# ICMPv6.
FULL_SIZE = 3400 - 40 - 24 - 40 - 8


def passed(fabric):
    """Packets that each switch has shifted."""
    counts = {}
    for switch in fabric.status()["switches"]:
        shown = fabric.inside(switch["name"], "ip", "-s", "-6", "route", "show", switch["usid"])
        counts[switch["name"]] = int(re.search(r"packets (\d+)", shown).group(1))
    return counts


def check_path(fabric, h0, h1, plane, spine):
    use_path_both_ways(fabric, h0, h1, plane, spine)
    before = passed(fabric)
    fabric.inside("h0", "ping", "-6", "-c", str(PINGS), "-i", "0.01", "-W", "2", "-I", h0["mrc_address"], "-M", "do",
                  "-s", str(FULL_SIZE), h1["mrc_address"])
    after = passed(fabric)
    moved = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    path = [f"p{plane}t0-{h0['leaf']}"]
    if spine is not None:
        path += [f"p{plane}t1-{spine}", f"p{plane}t0-{h1['leaf']}"]
    expected = {name: 2 * PINGS for name in path}
    check(moved == expected, f"{h0['name']} {h1['name']}, plane {plane}: {2 * PINGS} packets through "
          f"{', '.join(path)} and no other" + ("" if moved == expected else f", but seen: {moved}"))


def main():
    need_root()
    with lab("ping", "--switch", "kernel", "--no-daemons", "--planes", str(PLANES), "--spines", str(SPINES),
             "--hosts", "3") as fabric:
        hosts = set_up_hosts(fabric)
        for plane in range(PLANES):
            for spine in range(SPINES):
                check_path(fabric, hosts["h0"], hosts["h1"], plane, spine)
            check_path(fabric, hosts["h0"], hosts["h2"], plane, None)


if __name__ == "__main__":
    main()
