#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Congestion marks, as a capture shows them: MRC data leaves with ECT(0) in both headers; where a switch sets CE in the
outer one, the receiver counts it, and the SACK of exactly that packet says SKIP_ONCE.

tcpdump sees no packet that XDP redirects, so the capture is taken on the kernel's own switches, where nftables sets the
mark. On XDP switches, whose virtual queue marks, the same is shown by the counters of switch and hosts."""

import collections
import contextlib
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

from lab_support import DEADLINE_S, ROOT, check, lab, need_binaries, need_root, skip
from pinned_maps import host_maps
from transfer_support import random_file, transfer, wait_until

sys.path.insert(0, str(pathlib.Path(ROOT) / "tests/vectors"))
try:
    import mrc_scapy as mrc
except ImportError:
    mrc = None

FILE_MB = 3
MOST_PACKETS = 20000
ETHERNET_BYTES = 14
SKIP_ONCE = 1
ONE_PATH = ("--planes", "1", "--spines", "1")
# One packet of eight that leaves for the spine, among those that may be marked.
MARKING = """
table netdev congested {
    chain out {
        type filter hook egress device "u0" priority 0;
        ip6 ecn ect0 numgen inc mod 8 == 0 ip6 ecn set ce
    }
}
"""
# So little in flight that no ring on the way overflows, and a virtual queue of 10 Gbit/s marks, but does not drop.
WINDOW = "[transport]\nwindow_bytes = 98304\nbacklog_mark_us = 0\n"  # only switches mark


class capture:
    """Packets that arrive at one port of a switch."""

    def __init__(self, fabric, directory, node, port):
        self.path = f"{directory}/{node}-{port}.pcap"
        # The snapshot length is also the size of a slot in tcpdump's ring: by default 16 MB would hold 64 packets.
        argv = fabric.enter(node, "tcpdump", "-i", port, "-Q", "in", "--immediate-mode", "-U", "-B", "16384",
                            "-s", "4096", "-c", str(MOST_PACKETS), "-Z", "root", "-w", self.path, "ip6")
        self.tcpdump = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
        while "listening" not in (line := self.tcpdump.stderr.readline()):
            if not line:
                sys.exit(f"FAIL: tcpdump does not start on {port} of {node}")

    def packets(self):
        """MRC packets as (outer header, inner header, BTH), in order of arrival."""
        for data in frames(pathlib.Path(self.path).read_bytes()):
            packet = mrc.decode(data[ETHERNET_BYTES:])
            if mrc.BTH in packet and isinstance(packet.payload, mrc.IPv6):
                yield packet, packet.payload, packet[mrc.BTH]

    def await_packets(self, opcodes, count, what):
        """The capture is complete when it holds as many packets of a kind as were sent."""
        def seen():
            return sum(bth.opcode in opcodes for *_, bth in self.packets())
        wait_until(lambda: seen() >= count, DEADLINE_S)
        check(seen() == count, f"all {count} {what} are captured")

    def close(self):
        self.tcpdump.send_signal(signal.SIGINT)
        self.tcpdump.communicate(timeout=DEADLINE_S)


def frames(pcap):
    """The frames of a capture file; a last one that is still being written is left out."""
    at = 24
    while at + 16 <= len(pcap):
        _, _, size, _ = struct.unpack_from("=IIII", pcap, at)
        if at + 16 + size > len(pcap):
            return
        yield pcap[at + 16:at + 16 + size]
        at += 16 + size


def ecn(header):
    return header.tc & 3


def check_file(fabric, directory):
    """A file arrives; returns the client's report."""
    client, _, status = transfer(fabric, "--file", str(random_file(directory, FILE_MB)), "--size", "256K")
    check(client.status == status == 0 and client.report["verified"], f"the file arrives whole {client.complaints}")
    return client.report


def check_leaving(leaving):
    """What the sender itself has set."""
    kinds = collections.Counter()
    for outer, inner, bth in leaving.packets():
        kinds[bth.opcode in mrc.DATA, ecn(outer), ecn(inner)] += 1
    data = {key[1:]: count for key, count in kinds.items() if key[0]}
    packets = sum(data.values())
    check(set(data) == {(mrc.ECT0, mrc.ECT0)}, f"all {packets} data packets leave with ECT(0) inside and out")
    control = {key[1:] for key in kinds if not key[0]}
    check(control <= {(mrc.NOT_ECT, mrc.NOT_ECT)}, "what is not data leaves as Not-ECT")


def check_marked(arriving):
    """What the switch made of it; returns (PSN, retransmission, EV) of every marked packet."""
    marked = set()
    for outer, inner, bth in arriving.packets():
        if bth.opcode in mrc.DATA:
            check_quietly(ecn(inner) == mrc.ECT0, "the switch leaves the inner header alone")
            if ecn(outer) == mrc.CE:
                marked.add((bth.psn, bth.rtx, mrc.ev_of(inner.fl, inner.payload.sport)))
    check(marked, f"the switch has marked {len(marked)} packets in the outer header")
    return marked


def check_quietly(condition, what):
    if not condition:
        check(condition, what)


def check_echoes(returning, marked):
    """Every SACK of a marked packet says SKIP_ONCE, and no other does; returns how many do."""
    echoed = 0
    for *_, bth in returning.packets():
        if bth.opcode != mrc.SACK or bth[mrc.SETH].pr:
            continue
        sack = bth[mrc.SETH]
        trigger = ((sack.cack_psn + sack.ack_psn_offset) % (1 << 24), bth.rtx, sack.entropy)
        check_quietly(sack.m == (SKIP_ONCE if trigger in marked else 0), f"m = {sack.m} in the SACK of {trigger}")
        echoed += sack.m == SKIP_ONCE
    check(echoed, f"{echoed} SACKs say SKIP_ONCE: those of marked packets, and no others")
    return echoed


def check_kernel_switch(directory):
    print("kernel switches, one path, marks on the way to the spine:")
    with lab("ecn-kernel", "--switch", "kernel", *ONE_PATH, config=WINDOW) as fabric, \
            contextlib.ExitStack() as closing:
        fabric.inside("p0t0-0", "nft", MARKING)
        leaving, arriving, returning = (capture(fabric, directory, node, port) for node, port in
                                        (("p0t0-0", "d0"), ("p0t1-0", "d0"), ("p0t1-0", "d1")))
        for each in (leaving, arriving, returning):
            closing.callback(each.close)
        report = check_file(fabric, directory)
        leaving.await_packets(mrc.DATA, report["sender"]["tx_packets"], "data packets of the sender")
        arriving.await_packets(mrc.DATA, report["sender"]["tx_packets"], "data packets behind the queue")
        returning.await_packets([mrc.SACK], report["receiver"]["sacks_sent"], "SACKs")
        check_leaving(leaving)
        marked = check_marked(arriving)
        echoed = check_echoes(returning, marked)
        counted = host_maps(f"{fabric.prefix}-h1").sum("signals", "ce")
        check(counted == len(marked), f"the receiver's metadata counted {counted} marks")
        counted = host_maps(f"{fabric.prefix}-h0").sum("signals", "ce_echoes")
        check(counted == echoed, f"the sender's signals counted {counted} echoes")


def check_xdp_switch(directory):
    print("XDP switches, a virtual queue on the way to the spine:")
    with lab("ecn-xdp", *ONE_PATH, config=WINDOW) as fabric:
        fabric.run("impair", "p0t0-0", "p0t1-0", "--rate", "10Gbit", "--ecn-threshold", "10%,40%", "--one-way")
        check_file(fabric, directory)
        marked = host_maps(f"{fabric.prefix}/p0t0-0").verdicts()["MRC_SW_MARKED"]
        arrived = host_maps(f"{fabric.prefix}-h1").sum("signals", "ce")
        echoed = host_maps(f"{fabric.prefix}-h0").sum("signals", "ce_echoes")
        check(0 < echoed <= arrived == marked,
              f"the switch marked {marked} packets, {arrived} arrived, {echoed} were echoed")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    if mrc is None:
        skip("python3-scapy is not installed")
    for tool in ("tcpdump", "nft"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    with tempfile.TemporaryDirectory() as directory:
        check_kernel_switch(directory)
        check_xdp_switch(directory)


if __name__ == "__main__":
    main()
