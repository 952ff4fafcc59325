#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Transfers between IPv4 addresses: verified while a plane is cut, and as a capture shows them: every packet of the
queue pair is IPv4 inside of the outer header, between the two hosts, with entropy of 16 bits; EV probes are IPv6."""

import pathlib
import shutil
import sys
import tempfile

from ecn_capture import ETHERNET_BYTES, ONE_PATH, capture, frames, mrc
from lab_support import DEADLINE_S, check, lab, need_binaries, need_root, skip
from pinned_maps import ASSUMED_BAD, host_maps
from transfer_support import cut_and_watch, random_file, transfer, wait_until

PLANES = 4
DEAD_PLANE = 1
GOES_ON_BYTES = 16 << 20
FILE_MB = 3
HOSTS = ("10.128.0.1", "10.128.2.1")


def check_plane_loss():
    """Verified WRITEs, of which a plane is taken away, until more have arrived without it."""
    with lab("ipv4", "--ipv4") as fabric:
        sender = host_maps(f"{fabric.prefix}-h0")
        dead = sender.paths_to(fabric.host("h1")["mrc_address"], DEAD_PLANE)
        cut = {}
        watch = cut_and_watch(fabric, DEAD_PLANE, lambda: sender.states(dead) == {ASSUMED_BAD}, GOES_ON_BYTES, cut)
        client, report, _ = transfer(fabric, "-D", "50", "--verify", on_sample=watch, to="ipv4_address")
        check(cut.get("left") and "stopped" in cut, f"the dead plane is left, and {GOES_ON_BYTES} bytes more arrive")
        check(client.status == 130 and not client.complaints, f"no end failed {client.complaints}")
        check(client.report["verified"] is True and client.report["bytes"] == report["bytes"], "every byte is right")
        check((client.report["client"], client.report["server"]) == HOSTS, f"between {HOSTS[0]} and {HOSTS[1]}")
        check(all(client.report["plane_tx_packets"]), f"over all planes: {client.report['plane_tx_packets']}")
        wrong = sum(host_maps(f"{fabric.prefix}-{host}").verdicts()["MRC_RX_DROP_WRONG_PEER"] for host in ("h0", "h1"))
        check(wrong == 0, "and no packet came from another address than the queue pair's peer")
        client, *_ = transfer(fabric, "-n", "20", "--verify", "--bidir")
        check(client.status == 0 and client.report["server"] == "fd6d:7263::1:1", "IPv6 works beside it")


def packets(captured):
    """MRC packets of a capture, as (inner header, BTH)."""
    for data in frames(pathlib.Path(captured.path).read_bytes()):
        packet = mrc.decode(data[ETHERNET_BYTES:])
        if mrc.BTH in packet:
            yield packet.payload, packet[mrc.BTH]


def count(captured, opcodes):
    return sum(bth.opcode in opcodes for _, bth in packets(captured))


def check_headers(captured, source, destination):
    """Returns the kinds of inner header by whether it is a packet of the queue pair."""
    families = {True: set(), False: set()}
    for inner, bth in packets(captured):
        of_qp = bth.opcode not in (mrc.ENDPOINT_REQUEST, mrc.ENDPOINT_RESPONSE)
        families[of_qp].add(type(inner))
        if of_qp and (inner.src, inner.dst) != (source, destination):
            check(False, f"a packet is from {inner.src} to {inner.dst}")
        if bth.opcode == mrc.SACK and bth[mrc.SETH].entropy > 0xFFFF:
            check(False, f"a SACK reflects EV {bth[mrc.SETH].entropy:#x}, IPv4 carries 16 bits")
    return families


def check_capture(directory):
    """tcpdump sees no packet that XDP redirects: the kernel's switches show them."""
    with lab("ipv4-kernel", "--ipv4", "--switch", "kernel", *ONE_PATH) as fabric:
        there, back = capture(fabric, directory, "p0t0-0", "d0"), capture(fabric, directory, "p0t0-0", "u0")
        try:
            client, *_ = transfer(fabric, "--file", str(random_file(directory, FILE_MB)), "--size", "256K",
                                  to="ipv4_address")
            check(client.status == 0 and client.report["verified"], f"the file arrives whole {client.complaints}")
            sent, answers = client.report["sender"]["tx_packets"], client.report["receiver"]["sacks_sent"]
            wait_until(lambda: count(there, mrc.DATA) >= sent and count(back, [mrc.SACK]) >= answers, DEADLINE_S)
            check(count(there, mrc.DATA) == sent, f"all {sent} data packets are captured")
            check(count(back, [mrc.SACK]) == answers, f"all {answers} SACKs are captured")
            for captured, ends in ((there, HOSTS), (back, HOSTS[::-1])):
                families = check_headers(captured, *ends)
                check(families[True] == {mrc.IP}, f"what {ends[0]} sends for the queue pair is IPv4")
                check(families[False] <= {mrc.IPv6}, "endpoint operations are IPv6")
        finally:
            there.close()
            back.close()


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    check_plane_loss()
    if mrc is None:
        skip("python3-scapy is not installed")
    if not shutil.which("tcpdump"):
        skip("tcpdump is not installed")
    with tempfile.TemporaryDirectory() as directory:
        check_capture(directory)


if __name__ == "__main__":
    sys.exit(main())
