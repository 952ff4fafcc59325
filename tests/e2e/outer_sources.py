#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`outer_sources`: packets to one host leave each plane with so many outer sources, those of one path with one, whether
mrcd sends them, the program that answers EV probes, or ordinary sockets; and the far host takes them all.

usage: outer_sources.py xdp|af_xdp|kernel"""

import collections
import ipaddress
import pathlib
import sys
import tempfile

from capture import ANSWERED, ENGINES, OVERLAY, capturing, numbers, send_file, sent_at
from lab_support import ROOT, check, lab, need_binaries, need_root
from mrcctl import operator

sys.path.insert(0, str(pathlib.Path(ROOT) / "tests/check"))

from tshark import tshark  # noqa: E402

PLANES, SOURCES = 2, 3
SHAPE = ("--planes", str(PLANES), "--leaves", "2", "--spines", "4", "--hosts", "2")
FLOWS = 64
FIELDS = ("frame.interface_name", "frame.interface_description", "ipv6.src", "ipv6.dst", "mrc.ev")
SEND_DATAGRAMS = """
import socket
for _ in range({flows}):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.sendto(b"a flow", ("{address}", 18700))
"""


def frames_of(path, points):
    """(port, outer source, outer destination, EV) of each copy made there."""
    done = tshark(path, "-T", "fields", "-E", "occurrence=f", *(word for field in FIELDS for word in ("-e", field)))
    for line in done.stdout.splitlines():
        port, at, *rest = line.split("\t")
        if at in points:
            yield port, *rest


def own_source(fabric, name, plane):
    """A port's address, and those that only have a number in the twelfth byte more."""
    row, = (port for port in operator(fabric, name).json("port", "list") if port["plane"] == plane)
    address = ipaddress.IPv6Address(row["address"])
    return {str(ipaddress.IPv6Address(int(address) | number << 32)) for number in range(SOURCES)}


def check_sources(fabric, name, frames, key, what):
    """`key` of a frame tells its path."""
    by_plane, by_path = collections.defaultdict(set), collections.defaultdict(set)
    for frame in frames:
        port, source, *_ = frame
        by_plane[port].add(source)
        by_path[port, key(frame)].add(source)
    expected = {f"p{plane}": own_source(fabric, name, plane) for plane in range(PLANES)}
    check(by_plane == expected, f"{what}: {SOURCES} sources on each plane, {dict(by_plane)}")
    check(all(len(sources) == 1 for sources in by_path.values()), f"{what}: one for each of {len(by_path)} paths")


def destination_of(frame):
    return frame[2]


def ev_of(frame):
    return frame[3]


def check_sender(fabric, directory, engine):
    path, address = pathlib.Path(directory) / "sent.pcapng", fabric.host("h1")["mrc_address"]
    with capturing(operator(fabric, "h0"), path, "--rate", "0", "--snaplen", "128") as process:
        send_file(fabric, directory, megabytes=1)
        fabric.inside("h0", "python3", "-c", SEND_DATAGRAMS.format(flows=FLOWS, address=address))
    check(numbers(process.told)[1:] == [0, 0], f"none is missing: {process.told.strip()}")
    sent = [frame for frame in frames_of(path, sent_at(fabric, "h0", engine)) if frame[3]]
    check_sources(fabric, "h0", sent, destination_of, engine)
    check_sources(fabric, "h0", sent, ev_of, f"{engine}, by EV")
    check_sources(fabric, "h0", frames_of(path, {OVERLAY}), destination_of, OVERLAY)


def check_answers(fabric, directory):
    """Of the program that answers probes, by the path that each probe has come on."""
    path = pathlib.Path(directory) / "answers.pcapng"
    with capturing(operator(fabric, "h1"), path, "--rate", "0"):
        operator(fabric, "h0").json("probe", fabric.host("h1")["mrc_address"])
    check_sources(fabric, "h1", frames_of(path, {ANSWERED}), destination_of, ANSWERED)


def main(case):
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrcctl")
    engine = "af_xdp" if case == "af_xdp" else "xdp"
    switch = "kernel" if case == "kernel" else "xdp"
    with (lab("sources", *SHAPE, "--switch", switch,
              config=ENGINES[engine] + f"outer_sources = {SOURCES}\n") as fabric,
          tempfile.TemporaryDirectory() as directory):
        check_sender(fabric, directory, engine)
        check_answers(fabric, directory)


if __name__ == "__main__":
    main(sys.argv[1])
