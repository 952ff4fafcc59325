#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of one host speak to each other through its mrcd: verified by IPv6 and IPv4, while every plane is cut and
every port goes down, several at once and beside traffic to another host, and when one is killed. The counters say where
the packets went. One case of the table a run; ends with nothing left behind."""

import json
import signal
import sys
import tempfile
import time

from lab_support import DEADLINE_S, binary, check, lab, left_behind, need_binaries, need_root
from pinned_maps import host_maps
from transfer_support import lines_of, random_file, server, start_perf, transfer, wait_until

PLANES = 2
HOST = "h1"  # where transfer() has its server
PAIRS = 3
GOES_ON_BYTES = 64 << 20
KILLED_LIMIT_S = 20


def maps_of(fabric, host):
    return host_maps(f"{fabric.prefix}-{host}")


def sent_by_ports(fabric):
    """Packets that the host's ports have sent since their mrcd started."""
    return [row["tx_packets"] for row in maps_of(fabric, HOST).rows("ports") if row["ifindex"]]


def queue_pairs(fabric):
    said = fabric.inside(HOST, binary("mrcctl"), "--instance", f"{fabric.prefix}-{HOST}", "-j", "qp", "list")
    return json.loads(said)


def sends(fabric):
    """Whether data has left one of two queue pairs: from then on there is something to report."""
    rows = maps_of(fabric, HOST).queue_pairs().values()
    return len(rows) == 2 and any(row["tx_packets"] for row in rows)


def check_bytes(fabric, to):
    """A file, and every size of message, both ways at once."""
    with tempfile.TemporaryDirectory() as directory:
        path = random_file(directory, 16)
        client, report, status = transfer(fabric, "--file", str(path), to=to, host=HOST)
        check(client.status == 0 and status == 0 and client.report["sha256_sent"] == report["sha256_received"] != "",
              f"a file arrives whole, by {client.report['server']} {client.complaints}")
    for arguments in (("-s", "1", "-n", "500"), ("-s", "64K", "-n", "200", "-q", "8", "--bidir"),
                      ("-s", "1M", "-n", "20", "--memory", "process"), ("--lat", "-n", "200")):
        client, _, status = transfer(fabric, *arguments, *(() if "--lat" in arguments else ("--verify",)), to=to,
                                     host=HOST)
        check(client.status == 0 and status == 0, f"{' '.join(arguments)} {client.complaints}")
        check(client.report["plane_tx_packets"] == [] and client.report["losses"] == 0,
              "on no plane, and nothing is lost")


def check_own_host(fabric):
    """What all fabrics have alike."""
    before = sent_by_ports(fabric)
    check_bytes(fabric, "mrc_address")
    check(sent_by_ports(fabric) == before, f"no port has sent anything: {before}")
    counted = maps_of(fabric, HOST).verdicts()
    check(counted["MRC_AGENT_LOCAL"] > 5000, f"{counted['MRC_AGENT_LOCAL']} packets went within the host")
    check(counted["MRC_AGENT_ACCEPTED"] == 0 == counted["MRC_AGENT_DROP_WRONG_PEER"], "and no other")
    check(queue_pairs(fabric) == [], "no queue pair is left")


def all_planes_lost(fabric):
    """Switches that drop everything, then ports without a link, while verified WRITEs go on."""
    steps = [lambda: [fabric.run("plane", str(plane), "down") for plane in range(PLANES)],
             lambda: [fabric.inside(HOST, "ip", "link", "set", f"p{plane}", "down") for plane in range(PLANES)]]
    reached = []

    def lose(sample, process):
        if len(reached) == len(steps) + 1 or sample["bytes"] < (reached[-1] if reached else 1):
            return
        if len(reached) < len(steps):
            steps[len(reached)]()
            reached.append(sample["bytes"] + GOES_ON_BYTES)
        else:
            reached.append(None)
            process.send_signal(signal.SIGINT)

    client, report, _ = transfer(fabric, "-D", "50", "--verify", on_sample=lose, host=HOST)
    check(len(reached) == 3 and maps_of(fabric, HOST).row("host", 0)["plane_mask"] == 0,
          "bytes go on without a plane, and without a port")
    check(client.status == 130 and not client.complaints and client.report["losses"] == 0,
          f"no end failed, nothing was lost {client.complaints}")
    check(client.report["verified"] is True and client.report["bytes"] == report["bytes"], "every byte is right")
    for plane in range(PLANES):
        fabric.run("plane", str(plane), "up")
        fabric.inside(HOST, "ip", "link", "set", f"p{plane}", "up")
    check(wait_until(lambda: maps_of(fabric, HOST).row("host", 0)["plane_mask"] == (1 << PLANES) - 1, DEADLINE_S),
          "the ports are back")


def several_at_once(fabric):
    """Pairs of programs on the host, and one with its client on another."""
    address = fabric.host(HOST)["mrc_address"]
    servers, clients = [], []
    try:
        for _ in range(PAIRS + 1):
            servers.append(start_perf(fabric, HOST, "--json", "--once", "--port", "0"))
        ports = [lines_of(one.stdout).next(time.monotonic() + DEADLINE_S).split()[1] for one in servers]
        hosts = [HOST] * PAIRS + ["h0"]
        for port, host in zip(ports, hosts):
            clients.append(start_perf(fabric, host, address, "--json", "--port", port, "-n", "200", "--verify"))
        reports = [json.loads(one.communicate()[0]) for one in clients]
        check(all(one.returncode == 0 for one in clients), f"{PAIRS} pairs, and a client of another host")
        check(all(report["verified"] is True for report in reports), "every byte is right")
        check([report["plane_tx_packets"] == [] for report in reports] == [True] * PAIRS + [False],
              "each by its own way")
        check(all(report["losses"] == 0 for report in reports[:PAIRS]), "nothing is lost within the host")
    finally:
        for one in servers + clients:
            one.kill()
            one.communicate()


def killed(fabric):
    """The program at the other end is killed."""
    with server(fabric) as (process, _):
        client = start_perf(fabric, HOST, fabric.host(HOST)["mrc_address"], "-D", "60")
        try:
            check(wait_until(lambda: sends(fabric), DEADLINE_S), "two programs are connected, and one writes")
            process.kill()
            said, complaints = (text.decode() for text in client.communicate(timeout=KILLED_LIMIT_S))
            # By a reset, where it was killed before it had read what came last.
            gone = "has closed the connection" in complaints or "is gone: Connection reset by peer" in complaints
            check(client.returncode == 1 and gone and "within the host" in said,
                  f"the other one says so, and reports what it has: {complaints.strip()}")
        finally:
            client.kill()
            client.communicate()
    check(wait_until(lambda: queue_pairs(fabric) == [], DEADLINE_S), "nothing of them is left")


def everything(fabric):
    check_own_host(fabric)
    check_bytes(fabric, "ipv4_address")
    all_planes_lost(fabric)
    several_at_once(fabric)
    killed(fabric)


# name: (the case, options of `up`)
CASES = {"xdp": (everything, ("--engine", "xdp", "--planes", str(PLANES), "--ipv4")),
         "af_xdp": (everything, ("--engine", "af_xdp", "--planes", str(PLANES), "--ipv4")),
         "one_port": (check_own_host, ("--planes", "1", "--mtu", "1500"))}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: own_host.py CASE; cases: {', '.join(CASES)}")
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrcctl")
    case, options = CASES[sys.argv[1]]
    with lab("own-host", *options) as fabric:
        case(fabric)
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
