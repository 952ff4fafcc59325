#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""With [fabric_map] deny_lossy a host leaves the plane whose own link loses packets, its peer hears of it, and it comes
back once the link is good; of two such planes it keeps one."""

from fabric_map import watcher
from lab_support import check, lab, need_binaries, need_root
from transfer_support import DEADLINE_S, transfer, wait_until

CONFIG = "[fabric_map]\ninterval_us = 5000\ndeny_lossy = true\n"
LOSSY = ("--loss", "10%", "--one-way")


class host:
    def __init__(self, fabric, name):
        self.watcher = watcher(fabric, name)

    def in_use(self):
        return [port["plane"] for port in self.watcher.mrcctl.json("port", "list") if port["state"] == "up"]

    def lossy(self):
        return [link["plane"] for link in self.watcher.links() if link["spine"] is None and link["state"] == "lossy"]


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl", "mrc-perf")
    with lab("fabric-policy", "--planes", "2", "--spines", "1", config=CONFIG) as fabric:
        here = host(fabric, "h0")
        check(wait_until(here.watcher.is_good, DEADLINE_S) and here.in_use() == [0, 1], "both planes are in use")
        fabric.run("impair", "p1t0-0", "h0", *LOSSY)
        check(wait_until(lambda: here.in_use() == [0], DEADLINE_S), "the plane of a lossy link is left")
        reasons = {port["plane"]: port["reason"] for port in here.watcher.mrcctl.json("port", "list")}
        check(reasons == {0: None, 1: "disabled"}, f"which its port shows: {reasons}")
        check(any("plane 1: not used while the link of its port loses packets" in line
                  for line in fabric.log_lines("h0", "warning")), "and the log")
        check(transfer(fabric, "-n", "64")[0].status == 0, "traffic goes on")
        fabric.run("impair", "p0t0-0", "h0", *LOSSY)
        check(wait_until(lambda: here.lossy() == [0, 1], DEADLINE_S) and here.in_use() == [0], "the last plane is kept")
        fabric.run("impair", "p0t0-0", "h0", "--clear")
        fabric.run("impair", "p1t0-0", "h0", "--clear")
        check(wait_until(lambda: here.in_use() == [0, 1], DEADLINE_S), "the plane is back")


if __name__ == "__main__":
    main()
