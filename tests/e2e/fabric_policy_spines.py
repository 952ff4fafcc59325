#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""With [fabric_map] deny_lossy hosts leave a spine toward the leaf whose link to it loses packets, and that leaf's own
hosts toward all leaves; one spine stays in use however lossy all are; and it comes back once the link is good."""

from fabric_map import watcher
from lab_support import check, lab, need_binaries, need_root
from transfer_support import DEADLINE_S, transfer, wait_until

CONFIG = "[fabric_map]\ninterval_us = 5000\ndeny_lossy = true\n"
LOSSY = ("--loss", "10%", "--one-way")
LEAVES, SPINES = 3, 2


class host:
    def __init__(self, fabric, name):
        self.watcher = watcher(fabric, name)

    def denied(self):
        """Leaves and spines."""
        return {(path["group"], path["uplink"]) for path in self.watcher.mrcctl.json("path", "list")
                if path["state"] == "denied"}

    def lossy(self):
        return {fault["spine"] for fault in self.watcher.mrcctl.json("fabric", "map")["faults"]
                if fault["state"] == "lossy"}


def check_one_link(fabric, hosts):
    fabric.run("impair", "p0t0-0", "p0t1-0", *LOSSY)
    expected = [{(1, 0), (2, 0)}, {(0, 0)}, {(0, 0)}]  # h0 is behind leaf 0
    check(wait_until(lambda: [each.denied() for each in hosts] == expected, DEADLINE_S),
          f"paths that cross the lossy link are left: {[each.denied() for each in hosts]}")
    check(any("spine 0 of plane 0: not used while" in line for line in fabric.log_lines("h0", "warning")) and
          any("spine 0 of plane 0 toward leaf 0: not used while" in line for line in fabric.log_lines("h1", "warning")),
          "which the logs say")
    check(transfer(fabric, "-n", "64")[0].status == 0, "traffic goes on")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl", "mrc-perf")
    with lab("fabric-spines", "--planes", "1", "--leaves", str(LEAVES), "--spines", str(SPINES), "--hosts", "3",
             config=CONFIG) as fabric:
        hosts = [host(fabric, name) for name in ("h0", "h1", "h2")]
        check(wait_until(lambda: all(each.watcher.is_good() for each in hosts), DEADLINE_S) and
              not any(each.denied() for each in hosts), "all paths are in use")
        check_one_link(fabric, hosts)
        fabric.run("impair", "p0t0-0", "p0t1-1", *LOSSY)
        check(wait_until(lambda: len(hosts[0].lossy()) + len(hosts[1].lossy()) > 0 and
                         any(link["state"] == "lossy" and link["spine"] == 1 for link in hosts[0].watcher.links()),
                         DEADLINE_S), "the other spine's link is lossy, too")
        check(all(len({leaf for leaf, _ in each.denied()}) == len(each.denied()) for each in hosts),
              "one spine stays in use toward each leaf")
        for spine in range(SPINES):
            fabric.run("impair", "p0t0-0", f"p0t1-{spine}", "--clear")
        check(wait_until(lambda: not any(each.denied() for each in hosts), DEADLINE_S), "all are back")


if __name__ == "__main__":
    main()
