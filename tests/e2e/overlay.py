#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ordinary sockets over mrcnet0: ping and iperf3 cross the fabric, and keep off a plane that is down although no queue
pair is there to notice it; over XDP switches and over the kernel's own, by IPv6 and by IPv4. Sockets cannot send MRC
but by permission, and under a host's uSID nothing reaches its kernel that is not for its own addresses."""

import ipaddress
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
# Datagrams to some ports, and back what a socket on each of them has received meanwhile.
LISTENER = """
import select
import socket
import sys
address, *ports = sys.argv[1:]
sockets = {}
for port in ports:
    listening = socket.socket(socket.AF_INET if "." in address else socket.AF_INET6, socket.SOCK_DGRAM)
    listening.bind((address, int(port)))
    sockets[listening] = port
print("listening", flush=True)
heard = []
while "last" not in heard:
    for listening in select.select(sockets, [], [])[0]:
        heard += [sockets[listening], listening.recv(100).decode()]
print(" ".join(heard))
"""
DATAGRAMS = """
import socket, sys
address, *ports = sys.argv[1:]
with socket.socket(socket.AF_INET if "." in address else socket.AF_INET6, socket.SOCK_DGRAM) as sending:
    for port in ports:
        try:
            sending.sendto(b"forged" if port != ports[-1] else b"last", (address, int(port)))
        except OSError as error:
            print(error, file=sys.stderr)
"""
RAW_FRAME = """
import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
    link.bind((sys.argv[1], 0))
    link.send(bytes.fromhex(sys.argv[2]))
"""
MRC_PORTS = ("4791", "4971")
PLAIN_PORT = "5001"


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


def check_mrc_from_sockets(fabric, target, allowed):
    sender = host_maps(f"{fabric.prefix}-h0")
    before = sender.verdicts()
    ports = (*MRC_PORTS, PLAIN_PORT)
    listener = started(fabric, "h1", "listening", sys.executable, "-c", LISTENER, target.address, *ports)
    try:
        fabric.inside("h0", sys.executable, "-c", DATAGRAMS, target.address, *ports)
        words = listener.communicate(timeout=DEADLINE_S)[0].split()
    finally:
        listener.kill()
        listener.wait()
    dropped = sender.verdicts()["MRC_TX_DROP_MRC_PORT"] - before["MRC_TX_DROP_MRC_PORT"]
    heard = set(words[::2])
    if allowed:
        check(heard == set(ports) and dropped == 0, f"by permission, datagrams to MRC's ports arrive, too: {heard}")
    else:
        check(heard == {PLAIN_PORT} and dropped == len(MRC_PORTS),
              f"of datagrams to MRC's ports and to another only that arrives, {dropped} are dropped by name")


def ipv6_header(source, destination, next_header, length, hop_limit=255):
    return (bytes([0x60, 0, 0, 0]) + length.to_bytes(2, "big") + bytes([next_header, hop_limit]) +
            ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed)


def check_decapsulation(fabric):
    """What a leaf sends to a host's uSID reaches the host's kernel only if it is for the host."""
    host = fabric.host("h1")
    receiver = host_maps(f"{fabric.prefix}-h1")
    port = receiver.row("ports", 0)
    carrier = ipaddress.ip_address(bytes(int(str(byte), 0) for byte in port["outer"]["bytes"]))
    mac = bytes(int(str(byte), 0) for byte in port["mac"])
    ping = bytes([128, 0, 0, 0, 0, 0, 0, 0])
    advertisement = bytes([136, 0, 0, 0]) + bytes(20)
    for destination, message, verdict in ((host["mrc_address"], ping, "MRC_RX_PASS_POPPED"),
                                          ("2001:db8::1", ping, "MRC_RX_DROP_FOREIGN"),
                                          ("ff02::1", advertisement, "MRC_RX_DROP_FOREIGN"),
                                          (host["mrc_address"], advertisement, "MRC_RX_DROP_NEIGHBOUR")):
        before = receiver.verdicts()[verdict]
        inner = ipv6_header(fabric.host("h0")["mrc_address"], destination, 58, len(message)) + message
        outer = ipv6_header("2001:db8::2", carrier, 41, len(inner))
        frame = mac + bytes([2, 0, 0, 0, 0, 1]) + b"\x86\xdd" + outer + inner
        fabric.inside("p0t0-1", sys.executable, "-c", RAW_FRAME, "d0", frame.hex())
        wait_for(lambda: receiver.verdicts()[verdict] > before, f"ICMPv6 {message[0]} to {destination} is {verdict}")


def check_overlay(kind, ipv4=False):
    print(f"{kind} switches, {'IPv4' if ipv4 else 'IPv6'}:")
    mrc_from_sockets = kind == "kernel"
    with lab(f"overlay-{kind}", "--switch", kind, *(["--ipv4"] if ipv4 else []),
             config="[transmit]\nmrc_from_sockets = true\n" if mrc_from_sockets else "") as fabric:
        target = target_host(fabric, ipv4)
        check_pings(fabric, target)
        check_mrc_from_sockets(fabric, target, mrc_from_sockets)
        check_decapsulation(fabric)
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
