#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ordinary sockets over mrcnet0: ping and iperf3 cross the fabric, and keep off a plane that is down although no queue
pair is there to notice it; over XDP switches and over the kernel's own, by IPv6 and by IPv4."""

import json
import shutil
import subprocess
import sys
import time

from lab_support import DEADLINE_S, TIME_SCALE, check, lab, need_binaries, need_root, skip
from pinned_maps import ASSUMED_BAD, GOOD, host_maps
from transfer_support import wait_until

DEAD_PLANE = 2
CONNECTIONS = 64
IPERF_SECONDS = 3 * TIME_SCALE
IPERF_FLOWS = 8
# Each connection is a flow of its own, so that together they use every path; the server echoes what it reads.
ECHO_SERVER = """
import socketserver, sys
class echo(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(self.request.recv(64))
class server(socketserver.ThreadingTCPServer):
    address_family, request_queue_size, daemon_threads = 10, 128, True
with server((("::ffff:" if "." in sys.argv[1] else "") + sys.argv[1], 7777), echo) as listening:
    print("listening", flush=True)
    listening.serve_forever()
"""
ECHO_CLIENT = """
import socket, sys, time
answered = 0
for number in range(int(sys.argv[2])):
    try:
        with socket.create_connection((sys.argv[1], 7777), timeout=float(sys.argv[3])) as connection:
            connection.sendall(b"%d" % number)
            answered += connection.recv(64) == b"%d" % number
    except OSError as error:
        print(number, error, file=sys.stderr)
print(answered)
"""


def started(fabric, node, ready, *argv):
    """A server that has printed its line of readiness."""
    server = subprocess.Popen(fabric.enter(node, *argv), stdout=subprocess.PIPE, text=True)
    while ready not in (line := server.stdout.readline()):
        if not line:
            sys.exit(f"FAIL: {argv[0]} in {node} does not start")
    return server


def wait_for(condition, what):
    begin = time.monotonic()
    check(wait_until(condition, DEADLINE_S), f"{what}, after {(time.monotonic() - begin) * 1000:.0f} ms")


class target_host:
    """Where the traffic goes: the address that sockets use, and all that answer pings."""

    def __init__(self, fabric, ipv4):
        host = fabric.host("h1")
        self.address = host["ipv4_address"] if ipv4 else host["mrc_address"]
        self.addresses = [self.address] if ipv4 else [self.address, *host["plane_addresses"]]


def check_pings(fabric, target):
    for address in target.addresses:
        shown = fabric.inside("h0", "ping", "-q", "-c", "20", "-i", "0.002", "-W", "5", address)
        check(" 0% packet loss" in shown, f"{address} answers every ping")


def check_connections(fabric, target, what):
    """Every connection is through in less than the second in which TCP would first send its SYN again."""
    argv = fabric.enter("h0", sys.executable, "-c", ECHO_CLIENT, target.address, str(CONNECTIONS), "0.9")
    done = subprocess.run(argv, text=True, capture_output=True, check=False)
    check(done.stdout.strip() == str(CONNECTIONS),
          f"{what}: {done.stdout.strip()} of {CONNECTIONS} TCP connections got their answer at once {done.stderr}")


class watched_plane:
    """The paths of one plane between the two hosts, as both see them."""

    def __init__(self, fabric, plane):
        self.hosts = []
        for here, there in (("h0", "h1"), ("h1", "h0")):
            maps = host_maps(f"{fabric.prefix}-{here}")
            self.hosts.append((maps, maps.paths_to(fabric.host(there)["mrc_address"], plane)))

    def all_are(self, state):
        return all(maps.states(paths) == {state} for maps, paths in self.hosts)


def check_plane_loss(fabric, target):
    plane = watched_plane(fabric, DEAD_PLANE)
    server = started(fabric, "h1", "listening", "iperf3", "-s", "-1", "--forceflush", "-B", target.address)
    client = subprocess.Popen(fabric.enter("h0", "iperf3", "-c", target.address, "-J", "-t",
                                           str(IPERF_SECONDS), "-i", str(0.5 * TIME_SCALE), "-P", str(IPERF_FLOWS)),
                              stdout=subprocess.PIPE, text=True)
    h0 = plane.hosts[0][0]
    sent = h0.sum("ports", "tx_bytes")
    wait_for(lambda: h0.sum("ports", "tx_bytes") > sent + (1 << 20), "iperf3 sends")
    fabric.run("plane", str(DEAD_PLANE), "down")
    wait_for(lambda: plane.all_are(ASSUMED_BAD), f"both hosts have left plane {DEAD_PLANE}")
    report = json.loads(client.communicate(timeout=DEADLINE_S + IPERF_SECONDS)[0])
    server.wait(DEADLINE_S)
    check("error" not in report and client.returncode == 0, f"iperf3 ends well {report.get('error', '')}")
    last = report["intervals"][-1]["streams"]
    check(all(stream["bytes"] for stream in last), f"all {len(last)} flows of iperf3 go on after the cut")
    print(f"    iperf3: {report['end']['sum_received']['bits_per_second'] / 1e9:.2f} Gbit/s, "
          f"{report['end']['sum_sent']['retransmits']} retransmits")
    # iperf3 makes queues overflow: only without it do all SYNs and pings arrive.
    check_connections(fabric, target, "with a plane down")
    check_pings(fabric, target)
    fabric.run("plane", str(DEAD_PLANE), "up")
    wait_for(lambda: plane.all_are(GOOD), f"both hosts are back on plane {DEAD_PLANE}")
    check_connections(fabric, target, "with all planes again")


def check_overlay(kind, ipv4=False):
    print(f"{kind} switches, {'IPv4' if ipv4 else 'IPv6'}:")
    with lab(f"overlay-{kind}", "--switch", kind, *(["--ipv4"] if ipv4 else [])) as fabric:
        target = target_host(fabric, ipv4)
        check_pings(fabric, target)
        echo = started(fabric, "h1", "listening", sys.executable, "-c", ECHO_SERVER, target.address)
        try:
            check_connections(fabric, target, "with all planes")
            check_plane_loss(fabric, target)
        finally:
            echo.kill()
            echo.wait()
        verdicts = host_maps(f"{fabric.prefix}-h0").verdicts()
        check(verdicts["MRC_TX_DROP_NO_PATH"] == 0 and verdicts["MRC_TX_DROP_RESIZE"] == 0 and
              verdicts["MRC_TX_PUSHED"] > 0, f"host_tx pushed {verdicts['MRC_TX_PUSHED']} packets and dropped none")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch")
    if not shutil.which("iperf3"):
        skip("iperf3 is not installed")
    for kind in ("xdp", "kernel"):
        check_overlay(kind)
    check_overlay("xdp", ipv4=True)


if __name__ == "__main__":
    main()
