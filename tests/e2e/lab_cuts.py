#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cutting, restoring and impairing links, switches and planes of a kernel-switch lab, as a ping sees it."""

import json
import subprocess

from lab_kernel_hosts import set_up_hosts, use_path_both_ways
from lab_support import binary, check, lab, need_binaries, need_root

LINK = ("p0t0-0", "p0t1-0")
HOST_LINK = ("h0", "p0t0-0")
FAR_HOST_LINK = ("h1", "p0t0-1")


# An answer takes well under a millisecond, so its absence is seen soon; one that is expected may take its time.
SILENCE_S = 0.3
PATIENCE_S = 5


def pinged(fabric, host, seconds):
    argv = fabric.enter("h0", "ping", "-6", "-c", "1", "-W", str(seconds), host["mrc_address"])
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def answered(fabric, host):
    return pinged(fabric, host, PATIENCE_S)


def silent(fabric, host):
    return not pinged(fabric, host, SILENCE_S)


def link_state(fabric, ends):
    return next(link["state"] for link in fabric.status()["links"] if {link["a"], link["b"]} == set(ends))


def check_cut(fabric, target, down, restore, ends, state):
    """`down` stops the ping and shows in the status, `restore` brings it back."""
    fabric.run(*down)
    check(silent(fabric, target), f"{' '.join(down)}: no answer")
    check(link_state(fabric, ends) == state, f"the status shows {' '.join(ends)} as {state}")
    fabric.run(*restore)
    check(answered(fabric, target) and link_state(fabric, ends) == "up", f"{' '.join(restore)}: answers again")


def started(name, kind):
    """A lab of one plane, its path h0, p0t0-0, p0t1-0, p0t0-1, h1 in use, and h1 to ping."""
    return lab(name, "--switch", kind, "--no-daemons", "--planes", "1")


def use_first_path(fabric):
    hosts = set_up_hosts(fabric)
    use_path_both_ways(fabric, hosts["h0"], hosts["h1"], 0, 0)
    check(answered(fabric, hosts["h1"]), "the path works")
    return hosts["h1"]


def test_carrier(kind):
    with started("carrier", kind) as fabric:
        target = use_first_path(fabric)
        for ends in (LINK, HOST_LINK):
            down, restore = ("link", *ends, "down", "--carrier"), ("link", *reversed(ends), "up")
            check_cut(fabric, target, down, restore, ends, "carrier-down")
        fabric.run("link", *HOST_LINK, "down", "--carrier")
        shown = fabric.inside("h0", "ip", "-o", "link", "show", "p0")
        check("NO-CARRIER" in shown, "the host's port has lost its carrier")


def forwarded(fabric, switch):
    pins = f"/sys/fs/bpf/mrc/{fabric.prefix}/{switch}"
    out = fabric.inside(switch, binary("mrc-switch"), "show", "--pin", pins, "--json")
    return json.loads(out)["verdicts"].get("forwarded", 0)


def test_host_link_is_cut_both_ways():
    with started("both", "xdp") as fabric:
        target = use_first_path(fabric)
        fabric.run("link", *HOST_LINK, "down")
        before = forwarded(fabric, "p0t0-0")
        check(silent(fabric, target), "the cut host link: no answer")
        check(forwarded(fabric, "p0t0-0") == before, "nothing from the cut host link was forwarded")


def test_cuts(kind):
    with started("cuts", kind) as fabric:
        target = use_first_path(fabric)
        for ends in (LINK, HOST_LINK, FAR_HOST_LINK):
            check_cut(fabric, target, ("link", *ends, "down"), ("link", *ends, "up"), ends, "down")
        for command in (("switch", "p0t1-0"), ("plane", "0")):
            check_cut(fabric, target, (*command, "down"), (*command, "up"), LINK, "down")
        fabric.run("link", *LINK, "down")
        fabric.run("switch", "p0t1-0", "down")
        fabric.run("switch", "p0t1-0", "up")
        check(silent(fabric, target), "a restored switch keeps its cut link cut")
        fabric.run("link", *LINK, "up")
        check(answered(fabric, target), "until that is restored as well")


def test_impairments(kind):
    with started("impair", kind) as fabric:
        target = use_first_path(fabric)
        fabric.run("impair", *LINK, "--loss", "100%", "--one-way")
        check(silent(fabric, target), "100% loss one way: no answer")
        shown = fabric.status()["impairments"]
        check(shown == [{"from": LINK[0], "to": LINK[1], "loss": "100%"}], "the status shows it")
        fabric.run("link", *LINK, "down")
        fabric.run("link", *LINK, "up")
        check(silent(fabric, target), "a cut and its end leave it as it was")
        fabric.run("impair", *LINK, "--clear", "--rate", "1Gbit")
        check(answered(fabric, target), "cleared, with a rate instead: answers")
        if kind == "kernel":
            queue = fabric.inside("p0t0-0", "tc", "qdisc", "show", "dev", "u0")
            check("tbf" in queue and "rate 1Gbit" in queue, "the port has a token bucket of that rate")
        else:
            fabric.run("impair", *LINK, "--trim", "--ecn-threshold", "20%,80%")
            merged = {"rate": "1Gbit", "trim": True, "ecn_threshold": "20%,80%"}
            check(all(merged.items() <= entry.items() for entry in fabric.status()["impairments"]),
                  "later values join earlier ones")
        fabric.run("impair", *LINK, "--clear")
        check(fabric.status()["impairments"] == [], "cleared altogether")
        check("tbf" not in fabric.inside("p0t0-0", "tc", "qdisc", "show", "dev", "u0"), "without a token bucket")
        toward, away = ("p0t0-0", "h0"), ("h0", "p0t0-0")
        possible, impossible = (away, toward) if kind == "kernel" else (toward, away)
        _, error = fabric.run("impair", *impossible, "--loss", "100%", "--one-way", status=1)
        check("cannot be impaired" in error, f"{kind} switches cannot impair {' to '.join(impossible)}, and say so")
        fabric.run("impair", *possible, "--loss", "100%")
        check(silent(fabric, target), f"but they can impair {' to '.join(possible)}")


def main():
    need_root()
    print("kernel switches:")
    test_carrier("kernel")
    test_cuts("kernel")
    need_binaries("mrc-switch")  # for what is left
    test_impairments("kernel")
    print("XDP switches:")
    test_carrier("xdp")
    test_cuts("xdp")
    test_host_link_is_cut_both_ways()
    test_impairments("xdp")


if __name__ == "__main__":
    main()
