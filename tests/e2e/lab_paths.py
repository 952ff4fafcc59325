# SPDX-License-Identifier: Apache-2.0
"""Pings over every path of a lab, and the switches' own counters to show which path they took."""

import json
import re
import subprocess

from lab_kernel_hosts import set_up_hosts, use_path_both_ways
from lab_support import binary, check, lab

PLANES, SPINES = 4, 2
PINGS = 3
# Link MTU less outer header, the SRH that the kernel's seg6 reserves room for and encap.red leaves out, inner header,
# ICMPv6.
FULL_SIZE = 3400 - 40 - 24 - 40 - 8


def shifted_by_kernel(fabric, switch):
    shown = fabric.inside(switch["name"], "ip", "-s", "-6", "route", "show", switch["usid"])
    return int(re.search(r"packets (\d+)", shown).group(1))


def forwarded_by_xdp(_, switch):
    shown = subprocess.run([binary("mrc-switch"), "show", "--json", "--pin", switch["pin"]], capture_output=True,
                           check=True)
    return json.loads(shown.stdout)["verdicts"]["forwarded"]


def check_path(fabric, counter, h0, h1, plane, spine):
    def counts():
        return {switch["name"]: counter(fabric, switch) for switch in switches}

    switches = fabric.status()["switches"]
    use_path_both_ways(fabric, h0, h1, plane, spine)
    before = counts()
    fabric.inside("h0", "ping", "-6", "-c", str(PINGS), "-i", "0.01", "-W", "2", "-I", h0["mrc_address"], "-M", "do",
                  "-s", str(FULL_SIZE), h1["mrc_address"])
    after = counts()
    moved = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    path = [f"p{plane}t0-{h0['leaf']}"]
    if spine is not None:
        path += [f"p{plane}t1-{spine}", f"p{plane}t0-{h1['leaf']}"]
    expected = {name: 2 * PINGS for name in path}
    check(moved == expected, f"{h0['name']} {h1['name']}, plane {plane}: {2 * PINGS} packets through "
          f"{', '.join(path)} and no other" + ("" if moved == expected else f", but seen: {moved}"))


def check_all_paths(counter, *arguments):
    """Each (plane, spine) between two leaves, and each plane within a leaf."""
    with lab("ping", "--no-daemons", "--planes", str(PLANES), "--spines", str(SPINES), "--hosts", "3",
             *arguments) as fabric:
        hosts = set_up_hosts(fabric)
        for plane in range(PLANES):
            for spine in range(SPINES):
                check_path(fabric, counter, hosts["h0"], hosts["h1"], plane, spine)
            check_path(fabric, counter, hosts["h0"], hosts["h2"], plane, None)
