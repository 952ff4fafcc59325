#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The incidents of docs/operations.md, made on a lab: each command there is run, and the lines that name the cause must
be what it prints, but for figures. With --print it prints what the page shows."""

import contextlib
import json
import pathlib
import re
import sys
import time

from lab_support import ROOT, check, lab, need_binaries, need_root
from mrcctl import run
from pinned_maps import host_maps
from transfer_support import DEADLINE_S, lines_of, start_perf, wait_until

PAGE = pathlib.Path(ROOT) / "docs/operations.md"
SHOWING = "--print" in sys.argv


FIGURE = re.compile(r"(?<![a-z0-9:])[\d.]+(?= (?:%|of \d|packets|small|times|data|arrived|Gbit))|(?<=of )\d+|"
                    r"(?<=process )\d+|(?<=queue pair )\d+")


def masked(line):
    """Without figures that differ from run to run."""
    return FIGURE.sub("N", line)


class incident:
    """A section of the page: its title, and what its commands print."""

    def __init__(self, fabric, title):
        text = PAGE.read_text("utf-8") if PAGE.exists() else ""
        self.title = title
        self.section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
        self.instance = f"{fabric.prefix}-h0"

    def shows(self, *command, lines, status):
        """The command's lines that matter: those that begin so. The page has the command and all of them."""
        done = run(*command, "--instance", self.instance)
        said = [line for line in done.stdout.splitlines() if line.startswith(lines)]
        words = " ".join(("mrcctl", *command))
        if SHOWING:
            print(f"### {self.title}\n$ {words}\n" + done.stdout)
            return
        check(done.returncode == status and said, f"{self.title}: {words}: {done.stdout or done.stderr}")
        page = [masked(line) for line in self.section.splitlines()]
        check(f"$ {words}" in self.section, "as the page has it")
        missing = [line for line in said if masked(line) not in page]
        check(not missing, f"which shows what it prints: {missing or said[0]} {done.stdout if missing else ''}")


def wait_for_port(fabric, state):
    def states():
        return {port["device"]: port["state"] for port in
                json.loads(run("port", "list", "-j", "--instance", f"{fabric.prefix}-h0").stdout)}
    check(wait_until(lambda: states()["p0"] == state, DEADLINE_S), f"port p0 is {state}")


def dead_cable(fabric):
    here = incident(fabric, "A dead cable")
    fabric.run("link", "h0", "p0t0-0", "down", "--carrier")
    wait_for_port(fabric, "down")
    here.shows("diagnose", lines=("port:", "  to do:"), status=1)
    fabric.run("link", "h0", "p0t0-0", "up")
    wait_for_port(fabric, "up")


def lossy_host_link(fabric):
    here = incident(fabric, "A host link that loses packets")
    fabric.run("impair", "p1t0-0", "h0", "--loss", "10%", "--one-way")
    here.shows("diagnose", lines=("host_link:", "  to do:"), status=1)
    fabric.run("impair", "p1t0-0", "h0", "--clear")


def lossy_spine_link(fabric):
    here = incident(fabric, "A spine link that loses packets")
    fabric.run("impair", "p0t0-0", "p0t1-1", "--loss", "10%", "--one-way")
    here.shows("diagnose", lines=("leaf_spine_link:", "  to do:"), status=1)
    fabric.run("impair", "p0t0-0", "p0t1-1", "--clear")


def flapping_transceiver(fabric):
    """The dead cable was one of three times."""
    here = incident(fabric, "A transceiver that flaps")
    for _ in range(2):
        fabric.run("link", "h0", "p0t0-0", "down", "--carrier")
        wait_for_port(fabric, "down")
        fabric.run("link", "h0", "p0t0-0", "up")
        wait_for_port(fabric, "up")
    here.shows("diagnose", lines=("flapping_port:", "  because", "  to do:"), status=1)


@contextlib.contextmanager
def sending(fabric, sender, receiver, *how):
    """mrc-perf from one host to another, for as long as the block lasts."""
    with contextlib.ExitStack() as programs:
        def started(host, *arguments):
            process = start_perf(fabric, host, "--json", *arguments)
            programs.callback(process.communicate)
            programs.callback(process.kill)
            return process

        listening = lines_of(started(receiver, "--port", "0").stdout).next(time.monotonic() + DEADLINE_S)
        maps = host_maps(f"{fabric.prefix}-{sender}")
        before = set(maps.queue_pairs())
        started(sender, fabric.host(receiver)["mrc_address"], "--port", listening.split()[-1], "-D", "600", *how)
        check(wait_until(lambda: any(row["tx_packets"] > 1000 for number, row in maps.queue_pairs().items()
                                     if number not in before), DEADLINE_S), f"{sender} sends to {receiver}")
        yield


def flooding_client(fabric):
    here = incident(fabric, "A client that floods")
    with sending(fabric, "h0", "h1", "-s", "64K", "--window", "8"), \
            sending(fabric, "h0", "h1", "-s", "64", "--window", "1024", "--qps", "256"):
        here.shows("diagnose", lines=("flooding_client:", "  because", "  to do:"), status=1)


def incast():
    """Two hosts send to h0; the ports to its leaf are too slow for them."""
    with lab("incast", "--planes", "2", "--leaves", "3", "--spines", "1", "--hosts", "3") as fabric:
        for plane in range(2):
            fabric.run("impair", f"p{plane}t1-0", f"p{plane}t0-0", "--rate", "100mbit", "--rtt", "4ms",
                       "--ecn-threshold", "20%,80%", "--one-way")
        here = incident(fabric, "Incast")
        with sending(fabric, "h1", "h0"), sending(fabric, "h2", "h0"):
            here.shows("diagnose", lines=("incast:", "  because", "  to do:"), status=1)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl", "mrc-perf")
    with lab("operations", "--planes", "2", "--spines", "2") as fabric:
        for walk in (lossy_host_link, lossy_spine_link, flooding_client, dead_cable, flapping_transceiver):
            walk(fabric)
    incast()


if __name__ == "__main__":
    main()
