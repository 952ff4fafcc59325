#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""XDP transmit whose calls have to wait for the kernel's XDP dispatcher leaves everything to AF_XDP, says so once, and
is in use again when calls no longer wait: while somebody attaches and detaches programs in an unrelated network
namespace, and where all places of the dispatcher were taken when mrcd started and are free now."""

import contextlib
import pathlib
import subprocess
import sys

from lab_support import DEADLINE_S, DISPATCHER_WAITS as WAITS, check, lab, need_binaries, need_root
from pinned_maps import dump_all
from transfer_support import server, run_client, wait_until

AGAIN = "XDP transmit is in use again"
SHAPE = ("--planes", "2", "--spines", "2", "--engine", "xdp")
SECONDS, LONGER = "2", "4"  # a port needs some calls to be sure that they wait


@contextlib.contextmanager
def programs(what):
    """xdp_places.py, once it is ready."""
    argv = [sys.executable, str(pathlib.Path(__file__).with_name("xdp_places.py")), what]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        check(process.stdout.readline() == "READY\n", f"programs in another namespace: {what}")
        yield process
    finally:
        process.stdin.close()
        process.wait(DEADLINE_S)


def goodput(fabric, seconds=SECONDS):
    with server(fabric):
        done = run_client(fabric, "-s", "1M", "-D", seconds)
    check(done.status == 0, f"a transfer succeeds: {done.complaints}")
    return done.report["goodput_gbps"]


def sent_by_xdp(fabric):
    """By all workers."""
    rows = dump_all([f"/sys/fs/bpf/mrc/{fabric.prefix}-h0/push_ring"]).popitem()[1]
    return sum(row["value"]["sent"] for row in rows)


def said(fabric, words, level):
    return [line for host in ("h0", "h1") for line in fabric.log_lines(host, level) if words in line]


def check_left_and_back(fabric, before, meanwhile, when):
    check(said(fabric, WAITS, "warning"), f"a warning names the dispatcher {when}")
    for host in ("h0", "h1"):
        lines = [line for line in fabric.log_lines(host, "warning") if WAITS in line]
        check(len(lines) <= 1, f"{host} warns once")
    check(meanwhile > before / 10, f"AF_XDP carries the traffic {when}: {meanwhile:.2f} after {before:.2f} Gbit/s")
    warned = len(said(fabric, WAITS, "warning"))
    check(wait_until(lambda: len(said(fabric, AGAIN, "info")) >= warned, DEADLINE_S, 0.1), "XDP transmit returns")


def others_attach():
    with lab("storm", *SHAPE) as fabric:
        before = goodput(fabric)
        with programs("storm"):
            meanwhile = goodput(fabric, LONGER)
        check_left_and_back(fabric, before, meanwhile, "while others attach programs")


def places_become_free():
    with programs("fill") as places, lab("places", *SHAPE) as fabric:
        before = goodput(fabric)
        check(not said(fabric, WAITS, "warning"), "without a place in the dispatcher, no call waits")
        places.stdin.write("f")
        places.stdin.flush()
        check(places.stdout.readline() == "FREE\n", "places become free")
        meanwhile = goodput(fabric, LONGER)
        check_left_and_back(fabric, before, meanwhile, "when places became free")
        sent = sent_by_xdp(fabric)
        check(goodput(fabric) > before / 10, "and then sends as before")
        check(sent_by_xdp(fabric) > sent, "by live frames again")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    others_attach()
    places_become_free()


if __name__ == "__main__":
    main()
