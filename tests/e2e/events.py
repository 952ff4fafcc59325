#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`mrcctl event`: what happened to a host of a lab, in order and with reasons. A plane cut under a transfer and
restored, a peer's port, queue pairs, a client that is killed; the same in the daemon's log, in bpftool's dump of the
map, for one who follows and for one who comes late; what host_rx begins to drop, which it tells by itself; and the end
of the daemon, which ends who follows."""

import ipaddress
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile

from lab_support import DEADLINE_S, binary, check, lab, need_binaries, need_root
from mrcctl import operator, run
from pinned_maps import enumerators
from plane_walk import CUT_PLANE, cut_and_restore
from transfer_support import STEADY, run_client, server, transfer, wait_until

GONE_REASONS = {"silence", "loss"}
BACK_REASONS = {"probes", "deliveries", "calm"}


class history:
    """Events of one host, as mrcctl tells them now."""

    def __init__(self, fabric, host):
        self.operator = operator(fabric, host)

    def all(self, *arguments):
        return [json.loads(line) for line in self.operator.text("event", "-j", *arguments).splitlines()]

    def of(self, *kinds):
        return [event for event in self.all() if event["event"] in kinds]


def check_plane(fabric, here):
    walk = cut_and_restore(fabric)
    client, server, _ = transfer(fabric, *STEADY, "-D", "60", "--verify", on_sample=walk)
    check(not walk.steps and server["verified"] is True, f"plane {CUT_PLANE} was cut and restored {client.complaints}")

    def planes():
        return [event for event in here.of("plane_out_of_use", "plane_in_use") if event["plane"] == CUT_PLANE]

    check(wait_until(lambda: [event["event"] for event in planes()][-1:] == ["plane_in_use"], DEADLINE_S),
          f"the plane is in use again: {planes()}")
    seen = planes()
    check([event["event"] for event in seen] == ["plane_out_of_use", "plane_in_use"] * (len(seen) // 2),
          "out of use and in use take turns")
    to = {"leaf": fabric.host("h1")["leaf"]} if fabric.is_srv6() else {"peer": fabric.host("h1")["mrc_address"]}
    check(all(event["reason"] in (GONE_REASONS if event["event"] == "plane_out_of_use" else BACK_REASONS) and
              to.items() <= event.items() and event["paths"] == len(walk.paths) for event in seen),
          f"each with its reason: {seen}")
    paths = [event for event in here.of("path_assumed_bad", "path_good") if event["plane"] == CUT_PLANE]
    before = [event for event in paths if event["number"] < seen[0]["number"]]
    check({event["uplink"] for event in before if event["event"] == "path_assumed_bad"} == set(range(len(walk.paths))),
          f"all of its paths were assumed bad before: {before}")
    check({event["path"] for event in paths} == set(walk.paths) and
          all(event["tx_packets"] > 0 for event in paths), f"with their rows and what was sent there: {paths}")
    check(paths[-1]["event"] == "path_good" and paths[-1]["reason"] in BACK_REASONS, f"and are good now: {paths[-1]}")


def check_session(here):
    check(wait_until(lambda: here.of("session_closed"), DEADLINE_S), "the client's session is closed")
    opened, closed = here.of("session_opened", "session_closed")
    check(opened["number"] < here.of("plane_out_of_use")[0]["number"] < closed["number"], "all in mrc-perf's session")
    check(opened["command"] == closed["command"] == "mrc-perf" and opened["pid"] == closed["pid"] and
          opened["session"] == closed["session"] and opened["uid"] == os.geteuid(), f"whose process is named: {closed}")
    check(closed["reason"] == "client_gone" and closed["queue_pairs"] == closed["registered_bytes"] == 0,
          "which left nothing behind")
    check_queue_pairs(here, opened, closed)


def check_queue_pairs(here, opened, closed):
    of_session = [event for event in here.of("qp_connected", "qp_error", "qp_closed")
                  if event["session"] == opened["session"]]
    stories = {event["qpn"]: [one for one in of_session if one["qpn"] == event["qpn"]] for event in of_session}
    check(stories and all([event["event"] for event in story] == ["qp_connected", "qp_closed"]
                          for story in stories.values()), f"its {len(stories)} queue pairs were connected and closed")
    check(all(event["peer"] and event["peer_qpn"] > 0 and opened["number"] < event["number"] < closed["number"]
              for event in of_session) and {event["reason"] for event in of_session} == {None, "client"},
          f"within it, to a peer: {of_session[0]['text']}")


def check_killed_client(fabric, here):
    killed = []

    def kill(_, process):
        if not killed:
            killed.append(process.pid)
            process.kill()

    with server(fabric):
        client = run_client(fabric, "-D", "60", on_sample=kill)
    check(killed and client.status == -signal.SIGKILL, "a client is killed")
    check(wait_until(lambda: here.of("session_closed")[-1]["pid"] == killed[0], DEADLINE_S), "its session")
    last = here.of("session_closed")[-1]
    check(last["reason"] == "client_gone" and last["queue_pairs"] > 0 and last["registered_bytes"] > 0,
          f"closes with what it had: {last['text']}")
    check({event["reason"] for event in here.of("qp_closed") if event["session"] == last["session"]} ==
          {"session_end"}, "and its queue pairs are closed with it")


def check_ports(fabric, here, peer):
    address = fabric.host("h1")["mrc_address"]
    for state, reason in (("down", "down"), ("up", None)):
        kind = "out_of_use" if reason else "usable"
        fabric.inside("h1", "ip", "link", "set", "p1", state)
        check(wait_until(lambda: [event["event"] for event in peer.of("port_usable", "port_out_of_use")][-1:] ==
                         [f"port_{kind}"], DEADLINE_S), f"a port goes {state}")
        last = peer.of("port_usable", "port_out_of_use")[-1]
        check(last["device"] == "p1" and last["plane"] == 1 and last["reason"] == reason, f"with its reason: {last}")
        check(wait_until(lambda: [(event["event"], event["peer"], event["plane"]) for event in
                                  here.of("peer_port_usable", "peer_port_out_of_use")][-1:] ==
                         [(f"peer_port_{kind}", address, 1)], DEADLINE_S), "and its peer knows")


MRC_OP_WRITE_FIRST = 0xC6  # include/mrc/abi/wire.h
SEND_RAW = """
import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
    s.bind((sys.argv[1], 0))
    for _ in range(int(sys.argv[2])):
        s.send(bytes.fromhex(sys.argv[3]))
"""


def no_mrc(source, destination):
    """A frame for MRC's port that is cut short behind the operation's code."""
    payload = bytes([MRC_OP_WRITE_FIRST])
    udp = struct.pack(">HHHH", 4791, 4791, 8 + len(payload), 0) + payload
    addresses = b"".join(ipaddress.ip_address(each).packed for each in (source, destination))
    return bytes(12) + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(udp), 17, 64) + addresses + udp


def check_drops(fabric, here):
    """Frames that are dropped, from the leaf's side of h0's link: one event of all of them, which host_rx writes."""
    source, count = "fd6d:7263::77", 6
    fabric.inside("p0t0-0", sys.executable, "-c", SEND_RAW, "d0", str(count),
                  no_mrc(source, fabric.host("h0")["mrc_address"]).hex())
    counted = f'plane="0",verdict="rx_drop_bad_mrc"}} {count}'
    check(wait_until(lambda: counted in here.operator.text("metrics"), DEADLINE_S), "metrics count them by their port")
    seen = [event for event in here.of("drops_begin") if event["verdict"] == "rx_drop_bad_mrc"]
    check(len(seen) == 1, f"one event has them all: {seen}")
    check((seen[0]["plane"], seen[0]["device"], seen[0]["peer"], seen[0]["drops"], seen[0]["quiet_us"]) ==
          (0, "p0", source, 1, None), f"with port, sender and number: {seen[0]['text']}")
    others = [event for event in here.all() if event["event"] != "drops_begin"]
    check(others[0]["time"] < seen[0]["time"], "and the wall clock's time, which the program was told")
    check(wait_until(lambda: seen[0]["text"] in fabric.log_lines("h0", "info"), DEADLINE_S), "the log has it, too")
    # Others may have been told of before: closed queue pairs, for one, have packets on their way.
    rows = {row["number"]: row for row in here.operator.maps.rows("events") if row["kind"] == "MRC_EVENT_DROPS_BEGIN"}
    check(rows[seen[0]["number"]]["name"] == "p0", "bpftool shows the row")


def check_log(fabric, here):
    """At `info` ports, planes and peers are logged: in the same words, and in the same order. Here and below more may
    have happened since the history was read."""
    texts = [event["text"] for event in here.all() if event["event"].startswith(("port_", "plane_", "peer_"))]
    logged = [line for line in fabric.log_lines("h0", "info") if line in texts]
    check(len(texts) > 3 and logged[:len(texts)] == texts,
          f"the log has the {len(texts)} events of ports, planes and peers")


def check_bpftool(here):
    events = [event for event in here.all() if event["event"] != "drops_begin"]  # whose numbers are their own
    last = events[-1]["number"]
    by_number = {row["number"]: row for row in here.operator.maps.rows("events")
                 if 0 < row["number"] <= last and row["kind"] != "MRC_EVENT_DROPS_BEGIN"}
    check(by_number.keys() == {event["number"] for event in events}, f"bpftool dumps the {len(by_number)} rows")
    kinds = enumerators("mrc_event_kind")
    check(all(by_number[event["number"]]["kind"] == f"MRC_EVENT_{event['event'].upper()}" in kinds and
              by_number[event["number"]]["reason"] == f"MRC_REASON_{(event['reason'] or 'none').upper()}"
              for event in events), f"with names: {by_number[last]['kind']}, {by_number[last]['reason']}")
    check(all(by_number[event["number"]]["peer_text"] == (event.get("peer") or event.get("host") or "")
              for event in events) and any(row["peer_text"] for row in by_number.values()), "and addresses as text")
    check(here.operator.maps.row("host", 0)["events"] >= last, "and the number of the last")


def check_text(here):
    events, lines = here.all(), here.operator.text("event").splitlines()
    check(len(lines) >= len(events) and all(line.endswith("  " + event["text"]) for line, event in zip(lines, events)),
          f"people read a line each: {lines[0]}")
    check(here.all("--since", "0") == [] and here.operator.text("event", "--since", "0") == "no events\n",
          "and of no time there are none")
    check(here.all("--since", "86400")[:len(events)] == events, "and of a day all")


def numbers_of(events):
    """In their order: of drops, which have numbers of their own, apart."""
    return [[event["number"] for event in events if (event["event"] == "drops_begin") == is_drop]
            for is_drop in (False, True)]


def check_end(fabric, here, follower, output):
    """A daemon that is told to end closes its sessions, tells so, and is gone."""
    numbers = numbers_of(here.all())
    check(wait_until(lambda: len(output().splitlines()) >= sum(map(len, numbers)), DEADLINE_S),
          "one who follows reads on")
    os.kill(fabric.host("h0")["pid"], signal.SIGTERM)
    follower.wait(timeout=DEADLINE_S)
    check(follower.returncode == 1 and follower.stderr.read() ==
          f"mrcctl: mrcd of instance '{here.operator.instance}' has ended\n", "until the daemon ends, and says so")
    followed = numbers_of([json.loads(line) for line in output().splitlines()])
    check(all(read[:len(told)] == told for read, told in zip(followed, numbers)),
          f"and has read each of the {len(numbers[0])} events and {len(numbers[1])} of drops once, in order")
    gone = run("event", "--instance", here.operator.instance)
    check(gone.returncode == 1 and here.operator.instance in gone.stderr, f"then there are no maps: {gone.stderr}")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrcctl")
    with lab("events", "--planes", "2", "--spines", "2") as fabric, tempfile.NamedTemporaryFile("w+") as file:
        here, peer = history(fabric, "h0"), history(fabric, "h1")
        with subprocess.Popen([binary("mrcctl"), "event", "-f", "-j", "--instance", here.operator.instance],
                              stdout=file, stderr=subprocess.PIPE, text=True) as follower:
            try:
                check_plane(fabric, here)
                check_session(here)
                check_killed_client(fabric, here)
                check_ports(fabric, here, peer)
                check_drops(fabric, here)
                check_log(fabric, here)
                check_bpftool(here)
                check_text(here)
                check_end(fabric, here, follower, lambda: open(file.name, encoding="utf-8").read())
            finally:
                follower.kill()


if __name__ == "__main__":
    main()
