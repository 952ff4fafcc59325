#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrc-bench-raw, each mode for a second by each way to transmit, on hosts without mrcd: what is sent arrives by all
planes, and what is foreign is told apart. How fast it is is not looked at."""

import contextlib
import json
import pathlib
import subprocess
import sys

from lab_support import ROOT, binary, check, need_binaries, need_root
from transfer_support import wait_until

sys.path.insert(0, str(pathlib.Path(ROOT, "tests/perf")))
from turns import labs, programs  # noqa: E402  pylint: disable=wrong-import-position

TRANSMITS = ("af_xdp", "xdp")
# Of a frame of MRC's, docs/protocol.md: Ethernet, outer and inner IPv6, UDP, BTH, METH, TSETH, RETH and ICRC.
HEADERS = 14 + 40 + 40 + 8 + 12 + 4 + 4 + 16 + 4
FOREIGN = 5
LIMIT_S = 20
SEND_FOREIGN = """
import socket
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
    for _ in range({count}):
        s.sendto(b"nothing of ours", ("{address}", 18700))
"""
PATH = "p0,fcbb:bb00:2000:1000:2001:8000::"
REFUSED = {
    ("stream",): ("--path is required",),
    ("nonsense", "--path", PATH): ("mode", "pingpong"),
    ("stream", "--path", "p0"): ("--path is 'p0'", "DEVICE,CARRIER"),
    ("stream", "--path", "p0,fcbb:bb00::"): ("--path is", "uSIDs behind the block"),
    ("stream", "--path", PATH, "--path", PATH): ("p0 twice",),
    ("stream", "--path", PATH, "--size", "3"): ("--size",),
    ("stream", "--path", PATH, "--size", "3300"): ("--size is 3300", "up to 32"),
    ("stream", "--path", PATH, "--window", "0"): ("--window",),
    ("stream", "--path", PATH, "--transmit", "tcp"): ("--transmit", "af_xdp"),
    ("stream", "--path", PATH, "--from-region"): ("--from-region", "allowed with --transmit xdp"),
    ("stream", "--path", PATH, "--in-xdp", "answer"): ("--in-xdp is 'answer'", "allowed with stream: nothing, place"),
    ("serve", "--path", PATH, "--in-xdp", "mark", "--sleep"): ("--sleep with --in-xdp mark", "nothing, place, answer"),
}


def raw(fabric, *arguments):
    return subprocess.run(fabric.enter("h0", binary("mrc-bench-raw"), *arguments), capture_output=True, text=True,
                          check=False)


def check_refusals(fabric):
    for arguments, words in REFUSED.items():
        done = raw(fabric, *arguments)
        check(done.returncode == 2 and all(word in done.stderr for word in words) and not done.stdout,
              f"refused: {' '.join(arguments)}: {done.stderr.strip()}")
    done = raw(fabric, "stream", "--path", "p9" + PATH[2:])
    check(done.returncode == 1 and "no device 'p9'" in done.stderr, "a device that is not there is named")
    done = raw(fabric, "stream", "--path", PATH)
    check(done.returncode == 1 and "far end does not answer" in done.stderr, "nobody answers where nobody serves")
    said = raw(fabric, "--help").stdout
    options = ("serve", "--path", "--transmit", "--window", "--from-region", "--in-xdp", "--icrc", "--copy", "--sleep",
               "--json")
    check(all(option in said for option in options), "--help names modes and options")


def arrived(fabric, plane, what="packets"):
    """At h1's port."""
    link, = json.loads(fabric.inside("h1", "ip", "-j", "-s", "link", "show", f"p{plane}"))
    return link["stats64"]["rx"][what]


def check_run(fabric, mode, transmit, *words, own=(), far=(), planes=labs.PLANES):
    both = ("--transmit", transmit, *words)
    what = f"{mode} {' '.join((*both, *own, *far))}, {planes} planes"
    before = [(arrived(fabric, plane), arrived(fabric, plane, "bytes")) for plane in range(planes)]
    report = programs.raw_report(fabric, mode, 1, *both, *own, far_arguments=(*both, *far), planes=planes)
    check(report["sent"] > 0 and report["foreign"] == 0 == report["refused"],
          f"{what}: {report['sent']} sent, none foreign")
    in_xdp = "--in-xdp" in (*words, *far)
    check(report["placed"] == report["received"] * in_xdp, f"{report['placed']} placed by the XDP program")
    if mode == "pingpong":
        times = report["lat_us"]
        check(0 < report["received"] <= report["sent"], f"{report['received']} are answered")
        check(0 < times["p50"] <= times["p90"] <= times["p99"] <= times["p999"], "and their times are told")
    else:
        lost = report["sent"] - report["received"]
        check(0 <= lost <= report["silences"] * report["window"], f"{lost} lost, {report['silences']} silences")
        check(report["bytes"] == report["received"] * report["payload_bytes"] and report["goodput_gbps"] > 0,
              f"{report['bytes']} bytes of payload")
    length = HEADERS + report["payload_bytes"]
    for plane, (packets, bytes_before) in enumerate(before):
        share = report["received"] // planes
        packets, octets = arrived(fabric, plane) - packets, arrived(fabric, plane, "bytes") - bytes_before
        check(packets >= share and octets >= share * length, f"plane {plane} has its share, frames of {length} bytes")
        if mode != "pingpong":
            check(octets <= packets * length, "and none is longer")
    return report


def check_in_xdp(fabric):
    """Whatever the XDP program does with what arrives, all of it arrives."""
    for transmit in TRANSMITS:
        check_run(fabric, "stream", transmit, "--sleep", "--icrc")
        check_run(fabric, "stream", transmit, "--sleep", "--icrc", far=("--in-xdp", "place"))
        check_run(fabric, "messages", transmit, "--sleep", "--icrc", far=("--in-xdp", "answer"))
        check_run(fabric, "pingpong", transmit, "--sleep", "--icrc", far=("--in-xdp", "answer"))
        check_run(fabric, "pingpong", transmit, "--sleep", "--icrc", "--in-xdp", "place")
    check_run(fabric, "stream", "af_xdp", "--sleep", far=("--in-xdp", "place"))
    check_run(fabric, "pingpong", "af_xdp", "--icrc", "--in-xdp", "mark")
    for words in ((), ("--icrc",)):
        check_run(fabric, "stream", "xdp", "--sleep", *words, own=("--from-region",), far=("--copy",))


def check_foreign(fabric):
    """Datagrams of a socket, to our port, in the middle of a run."""
    with programs.raw_far_end(fabric, "--sleep"):
        before = arrived(fabric, 0)
        paths = programs.raw_paths(fabric, "h0", "h1", labs.PLANES)
        argv = fabric.enter("h0", binary("mrc-bench-raw"), "pingpong", *paths, "--sleep", "--seconds", "2", "--json")
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
            check(wait_until(lambda: arrived(fabric, 0) > before + 20, LIMIT_S), "a run is under way")
            fabric.inside("h0", sys.executable, "-c",
                          SEND_FOREIGN.format(count=FOREIGN, address=labs.plane_address(0, 1)))
            report = json.loads(process.communicate()[0])
    check(report["foreign"] == FOREIGN, f"{report['foreign']} packets of others are told apart")


def check_far_end_gone(fabric):
    paths = programs.raw_paths(fabric, "h0", "h1", labs.PLANES)
    argv = fabric.enter("h0", binary("mrc-bench-raw"), "stream", *paths, "--sleep", "--seconds", "1")
    with contextlib.ExitStack() as near:
        with programs.raw_far_end(fabric, "--sleep"):
            before = arrived(fabric, 0)
            process = near.enter_context(
                subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            check(wait_until(lambda: arrived(fabric, 0) > before + 20, LIMIT_S), "a run is under way")
        said, complaint = process.communicate()
    check(process.returncode == 1 and not said and "no longer answers" in complaint, f"without a far end: {complaint}")


def check_text(fabric):
    with programs.raw_far_end(fabric, "--sleep"):
        paths = programs.raw_paths(fabric, "h0", "h1", labs.PLANES)
        said = raw(fabric, "stream", *paths, "--sleep", "--seconds", "1").stdout
        check(said.count("\n") == 1 and "Gbit/s" in said and "0 foreign" in said, f"for people: {said.strip()}")
        said = raw(fabric, "pingpong", *paths, "--sleep", "--seconds", "1").stdout
        check(said.count("\n") == 1 and "p99.9" in said and "0 foreign" in said, f"for people: {said.strip()}")


def main():
    need_root()
    need_binaries("mrc-switch", "mrc-bench-raw")
    with labs.by_kernel() as at:
        check_refusals(at.fabric)
        for transmit in TRANSMITS:
            check(check_run(at.fabric, "stream", transmit, "--sleep")["payload_bytes"] == 3072, "as long as MRC's")
            check_run(at.fabric, "stream", transmit, "--sleep", "--copy")
            check(check_run(at.fabric, "messages", transmit, "--sleep")["payload_bytes"] == 64, "short ones")
            check(check_run(at.fabric, "pingpong", transmit, "--sleep")["payload_bytes"] == 8, "shorter ones")
        check_run(at.fabric, "pingpong", "af_xdp")
        check_run(at.fabric, "stream", "af_xdp", "--sleep", planes=1)
        check_in_xdp(at.fabric)
        check_foreign(at.fabric)
        check_far_end_gone(at.fabric)
        check_text(at.fabric)


if __name__ == "__main__":
    main()
