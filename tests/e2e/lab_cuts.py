#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cutting, restoring and impairing links, switches and planes of a kernel-switch lab, as a ping sees it."""

import os
import subprocess

from lab_kernel_hosts import set_up_hosts, use_path_both_ways
from lab_support import check, lab, need_root, skip

LINK = ("p0t0-0", "p0t1-0")
HOST_LINK = ("h0", "p0t0-0")
FAR_HOST_LINK = ("h1", "p0t0-1")


def answered(fabric, host):
    argv = ["nsenter", f"--net=/run/netns/{fabric.prefix}-h0", "--", "ping", "-6", "-c", "1", "-W", "1",
            host["mrc_address"]]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def link_state(fabric, ends):
    return next(link["state"] for link in fabric.status()["links"] if {link["a"], link["b"]} == set(ends))


def check_cut(fabric, target, down, restore, ends, state):
    """`down` stops the ping and shows in the status, `restore` brings it back."""
    fabric.run(*down)
    check(not answered(fabric, target), f"{' '.join(down)}: no answer")
    check(link_state(fabric, ends) == state, f"the status shows {' '.join(ends)} as {state}")
    fabric.run(*restore)
    check(answered(fabric, target) and link_state(fabric, ends) == "up", f"{' '.join(restore)}: answers again")


def test_carrier():
    with lab("carrier", "--switch", "kernel", "--no-daemons", "--planes", "1") as fabric:
        hosts = set_up_hosts(fabric)
        use_path_both_ways(fabric, hosts["h0"], hosts["h1"], 0, 0)
        check(answered(fabric, hosts["h1"]), "the path works")
        for ends in (LINK, HOST_LINK):
            down, restore = ("link", *ends, "down", "--carrier"), ("link", *reversed(ends), "up")
            check_cut(fabric, hosts["h1"], down, restore, ends, "carrier-down")
        fabric.run("link", *HOST_LINK, "down", "--carrier")
        shown = fabric.inside("h0", "ip", "-o", "link", "show", "p0")
        check("NO-CARRIER" in shown, "the host's port has lost its carrier")


def test_cuts():
    with lab("cuts", "--switch", "kernel", "--no-daemons", "--planes", "1") as fabric:
        hosts = set_up_hosts(fabric)
        target = hosts["h1"]
        use_path_both_ways(fabric, hosts["h0"], target, 0, 0)
        check(answered(fabric, target), "the path works")
        for ends in (LINK, HOST_LINK, FAR_HOST_LINK):
            check_cut(fabric, target, ("link", *ends, "down"), ("link", *ends, "up"), ends, "down")
        for command in (("switch", "p0t1-0"), ("plane", "0")):
            check_cut(fabric, target, (*command, "down"), (*command, "up"), LINK, "down")
        fabric.run("link", *LINK, "down")
        fabric.run("switch", "p0t1-0", "down")
        fabric.run("switch", "p0t1-0", "up")
        check(not answered(fabric, target), "a restored switch keeps its cut link cut")
        fabric.run("link", *LINK, "up")
        check(answered(fabric, target), "until that is restored as well")


def test_impairments():
    with lab("impair", "--switch", "kernel", "--no-daemons", "--planes", "1") as fabric:
        hosts = set_up_hosts(fabric)
        target = hosts["h1"]
        use_path_both_ways(fabric, hosts["h0"], target, 0, 0)
        fabric.run("impair", *LINK, "--loss", "100%", "--one-way")
        check(not answered(fabric, target), "100% loss one way: no answer")
        shown = fabric.status()["impairments"]
        check(shown == [{"from": LINK[0], "to": LINK[1], "loss": "100%"}], "the status shows it")
        fabric.run("impair", *LINK, "--clear", "--rate", "1Gbit")
        check(answered(fabric, target), "cleared, with a rate instead: answers")
        shown = fabric.inside("p0t0-0", "tc", "qdisc", "show", "dev", "u0")
        check("tbf" in shown and "rate 1Gbit" in shown, "the kernel switch's port has a token bucket of that rate")
        fabric.run("impair", *LINK, "--clear")
        check(fabric.status()["impairments"] == [], "cleared altogether")
        check("tbf" not in fabric.inside("p0t0-0", "tc", "qdisc", "show", "dev", "u0"), "the token bucket is gone")


def main():
    need_root()
    test_carrier()
    test_cuts()
    directory = os.environ.get("MRC_BIN", os.path.join(os.path.dirname(__file__), "../../build/bin"))
    if not os.access(os.path.join(directory, "mrc-switch"), os.X_OK):
        skip(f"impairments need {directory}/mrc-switch, which is not built")
    test_impairments()


if __name__ == "__main__":
    main()
