#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`mrcctl capture`: what a host received and sent while a file crossed the lab, as tshark reads it: queue pairs, PSNs,
verdicts and directions, as many packets as mrcctl counts; pings and probes; filters; a capture that is killed leaves
nothing on, one that is not read can be ended; at full speed copies are lost, and told, and no packet.

usage: capture.py xdp|af_xdp"""

import collections
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from lab_support import DEADLINE_S, ROOT, binary, check, lab, need_binaries, need_root, skip
from mrcctl import operator, run
from transfer_support import random_file, stopped, transfer, wait_until

sys.path.insert(0, str(pathlib.Path(ROOT) / "tests/check"))

from tshark import tshark  # noqa: E402

FIELDS = ("frame.interface_name", "frame.interface_description", "frame.comment", "frame.packet_flags_direction",
          "frame.len", "frame.cap_len", "mrc.dqp", "mrc.psn", "mrc.opcode", "mrc.usids")
ENGINES = {"xdp": "[transmit]\nengine = 'xdp'\nring_packets = 0\n", "af_xdp": "[transmit]\nengine = 'af_xdp'\n"}
SENT = {"xdp": "sent by XDP transmit", "af_xdp": "sent by AF_XDP"}
ARRIVED, POPPED = "received, as it arrived", "received, outer header popped"
ANSWERED, OVERLAY = "sent, answer to an EV probe", "sent by sockets, overlay"
INBOUND, OUTBOUND = 1, 2  # of pcapng's epb_flags
PINGS = 5
DATA = range(0xC6, 0xCC)
PLANES = 4


class captured:
    """A packet of a capture file."""

    def __init__(self, values):
        self.port, self.point, self.verdict, *_ = values
        self.direction, self.length, self.copied = (int(value, 0) for value in values[3:6])
        self.dqp, self.psn, self.opcode = (int(value, 0) if value else None for value in values[6:9])
        self.has_usids = bool(values[9])


def read(path):
    done = tshark(path, "-T", "fields", "-E", "occurrence=f", *(word for field in FIELDS for word in ("-e", field)))
    return [captured(line.split("\t")) for line in done.stdout.splitlines()]


def sent_at(fabric, host, engine):
    """Where copies of what a host sends are made."""
    return {SENT[engine]} | ({SENT["af_xdp"]} if fabric.has_left_xdp_transmit(host) else set())


def capturing(here, path, *arguments):
    return here.recording("capture", "capturing on", "-w", str(path), *arguments)


def numbers(told):
    """Copies written, copies lost, packets beyond the rate."""
    return [int(number) for number in re.search(r"(\d+) copies of packets written; (\d+) copies lost, .*; "
                                                r"(\d+) packets", told).groups()]


def send_file(fabric, directory, *arguments, megabytes=2):
    client, report, status = transfer(fabric, "--file", str(random_file(directory, megabytes)), *arguments)
    check(client.status == status == 0 and report["verified"], f"a file arrives whole {client.complaints}")
    return client.report


def check_receiver(fabric, directory):
    here, path = operator(fabric, "h1"), pathlib.Path(directory) / "received.pcapng"
    before = here.json("counters")["verdicts"]
    with capturing(here, path, "--rate", "0") as process:
        report = send_file(fabric, directory, "--window", "1", "--size", "64K", megabytes=1)
    after = here.json("counters")["verdicts"]
    written, lost, over = numbers(process.told)
    packets = read(path)
    check(process.returncode == 0 and len(packets) == written and lost == over == 0, f"{written} copies {process.told}")
    check(path.stat().st_mode & 0o777 == 0o600, "for its owner's eyes only")
    arrived = [packet for packet in packets if packet.point == ARRIVED]
    popped = [packet for packet in packets if packet.point == POPPED]
    data = [packet for packet in arrived if packet.opcode in DATA]
    check(len(data) == report["sender"]["tx_packets"], f"the {len(data)} data packets arrived that were sent")
    check(len({packet.psn for packet in data}) == len(data) - report["retransmits"], "each PSN once, but for retries")
    qps = {packet.dqp for packet in data}
    check(len(qps) == 1, f"all to one queue pair: {qps}")
    check({packet.port for packet in data} == {f"p{plane}" for plane in range(PLANES)}, "by all ports")
    has_outer = fabric.is_srv6()
    check(all(packet.direction == INBOUND and packet.has_usids == has_outer for packet in arrived
              if packet.opcode is not None), "inbound, and what is MRC in its outer header, if it has one")
    verdicts = collections.Counter(packet.verdict for packet in arrived)
    counted = {name: after[name] - before[name] for name in verdicts}
    check(verdicts["rx_steered"] >= len(data) and all(verdicts[name] <= counted[name] for name in verdicts),
          f"with their verdicts, {dict(verdicts)} of {counted}")
    had_outer = ("rx_steered", "rx_pass_popped") if has_outer else ("rx_pass_popped",)  # the overlay's has one always
    went_on = [packet for packet in arrived if packet.verdict in had_outer]
    check(sorted(packet.length for packet in popped) == sorted(packet.length - 40 for packet in went_on) and
          not any(packet.has_usids for packet in popped),
          f"and {len(popped)} without, 40 bytes shorter")


def check_sender(fabric, directory, engine):
    here, path = operator(fabric, "h0"), pathlib.Path(directory) / "sent.pcapng"
    with capturing(here, path, "--rate", "0", "--snaplen", "128") as process:
        report = send_file(fabric, directory, "--window", "1", "--size", "64K", megabytes=1)
    written, lost, _ = numbers(process.told)
    packets = read(path)
    data = [packet for packet in packets if packet.opcode in DATA]
    check(written == len(packets) and lost == 0 and len(data) == report["sender"]["tx_packets"],
          f"the {len(data)} data packets that were sent, of {written} copies: {process.told}")
    points = collections.Counter(packet.point for packet in data)
    check(points.keys() <= sent_at(fabric, "h0", engine), f"all {SENT[engine]}, or what the log says: {dict(points)}")
    check(all(packet.direction == OUTBOUND and packet.has_usids == fabric.is_srv6() and packet.verdict == "push_sent"
              for packet in data), "outbound, with verdict, and outer header if there is one")
    check(all(packet.copied == min(128, packet.length) for packet in packets) and data[0].length > 3000,
          "of each 128 bytes, and its length")


def ping(fabric):
    fabric.inside("h0", "ping", "-q", "-c", str(PINGS), "-i", "0.002", "-W", "5", fabric.host("h1")["mrc_address"])


def check_pings_and_probes(fabric, directory):
    here, path = operator(fabric, "h1"), pathlib.Path(directory) / "other.pcapng"
    with capturing(here, path):
        ping(fabric)
        operator(fabric, "h0").json("probe", fabric.host("h1")["mrc_address"])
    copies = collections.Counter((packet.point, packet.direction, packet.verdict) for packet in read(path))
    check(all(copies[each] == PINGS for each in ((ARRIVED, INBOUND, "rx_pass_popped"),
                                                 (POPPED, INBOUND, "rx_pass_popped"),
                                                 (OVERLAY, OUTBOUND, "tx_pushed"))), "pings are seen both ways")
    probes = copies[ARRIVED, INBOUND, "rx_reflected"]
    check(0 < probes == copies[ANSWERED, OUTBOUND, "rx_reflected"], f"so are {probes} probes and their answers")


def check_queue_pair(fabric, directory):
    here, path = operator(fabric, "h1"), pathlib.Path(directory) / "qp.pcapng"
    chosen = []

    def look(sample, client):
        if chosen or not sample["bytes"]:
            return
        chosen.append(here.json("qp", "list")[0])
        done = run("capture", "-w", str(path), "--instance", here.instance, "--qp", str(chosen[0]["qpn"]), "-c", "1000",
                   "--snaplen", "128")
        check(done.returncode == 0, f"one of two queue pairs is captured: {done.stderr.strip()}")
        client.send_signal(signal.SIGINT)

    transfer(fabric, "-D", "300", "-q", "2", on_sample=look)
    found = {(packet.direction, packet.dqp) for packet in read(path)}
    check(found == {(INBOUND, chosen[0]["qpn"]), (OUTBOUND, chosen[0]["peer_qpn"])}, f"both ways and no other: {found}")


def check_filters(fabric, directory):
    here, path = operator(fabric, "h1"), pathlib.Path(directory) / "some.pcapng"
    with capturing(here, path, "--plane", "2", "--psn", "0-0xffffff", "--sample", "1/4", "-c", "40") as process:
        send_file(fabric, directory)
        process.wait(DEADLINE_S)  # by its own count
    packets = read(path)
    check(len(packets) == 40 and {packet.port for packet in packets} == {"p2"} and
          None not in {packet.psn for packet in packets}, "40 copies of one plane's MRC")
    before = path.read_bytes()
    for arguments, words in ((("--qp", "77777"), "no queue pair 77777"), (("--psn", "5-"), "FIRST-LAST"),
                             (("--sample", "2"), "1/N"), (("--snaplen", "9000"), "4064"), (("-j",), "pcapng"),
                             (("-w", "/dev/full"), "No space left")):
        target = () if "-w" in arguments else ("-w", str(path))
        done = run("capture", "--instance", here.instance, *target, *arguments)
        check(done.returncode != 0 and words in done.stderr and done.stderr.count("\n") == 1,
              f"{' '.join(arguments)} is refused: {done.stderr.strip()}")
    check(path.read_bytes() == before, "which leaves a file as it was")


def check_one_at_a_time_and_kill(fabric, directory):
    here, path = operator(fabric, "h1"), pathlib.Path(directory) / "killed.pcapng"
    with capturing(here, path) as process:
        done = run("capture", "-w", str(path), "--instance", here.instance)
        check(done.returncode == 1 and f"process {process.pid} captures already" in done.stderr and path.stat().st_size,
              f"a second one is refused, and leaves the file: {done.stderr.strip()}")
        check(here.maps.row("capture_ring", 0)["lease_ns"] > 0, "while the first has its lease")
        process.kill()

    def is_off():
        ping(fabric)
        return here.maps.row("capture_ring", 0)["lease_ns"] == 0

    check(wait_until(is_off, DEADLINE_S), "killed, it leaves nothing on")
    copies = here.maps.row("capture_ring", 0)["producer"]
    ping(fabric)
    check(here.maps.row("capture_ring", 0)["producer"] == copies, "and nothing is copied any more")
    with capturing(here, path, "-c", "1") as process:
        ping(fabric)
        process.wait(DEADLINE_S)
    check(numbers(process.told)[0] == 1, "the next one captures")


def check_full_speed(fabric, directory):
    here, path = operator(fabric, "h1"), pathlib.Path(directory) / "full.pcapng"
    held_up = []
    with capturing(here, path, "--rate", "0", "--snaplen", "96") as process:
        def hold_up(sample, client):
            if held_up or not sample["bytes"]:
                return
            before = here.maps.row("capture_ring", 0)["no_room"]
            with stopped(process.pid):
                held_up.append(wait_until(lambda: here.maps.row("capture_ring", 0)["no_room"] > before, DEADLINE_S))
            client.send_signal(signal.SIGINT)

        client, report, status = transfer(fabric, "-D", "300", "--verify", on_sample=hold_up)
    written, lost, _ = numbers(process.told)
    counted = subprocess.run(["capinfos", "-M", "-c", str(path)], capture_output=True, text=True, check=True).stdout
    check(held_up == [True] and lost > 0 and int(re.search(r"packets:\s*(\d+)", counted)[1]) == written > 0,
          f"copies are lost: {process.told.strip()}")
    check(report["verified"] is True and client.status == status == 128 + signal.SIGINT,
          f"and no byte {client.complaints}")


def capture_to_pipe(here):
    process = subprocess.Popen([binary("mrcctl"), "capture", "-w", "-", "--instance", here.instance],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stderr.readline()
    return process


def check_unread(fabric, directory):
    """Its pipe is full: it cannot write any more, but ends."""
    with capture_to_pipe(operator(fabric, "h1")) as process:
        send_file(fabric, directory)

        def interrupt():
            process.send_signal(signal.SIGINT)
            return process.poll() is not None

        check(wait_until(interrupt, DEADLINE_S) and process.returncode == -signal.SIGINT,
              "a second SIGINT ends one that nobody reads")


def check_end(fabric):
    process = capture_to_pipe(operator(fabric, "h1"))
    fabric.inside("h1", "kill", "-KILL", str(fabric.host("h1")["pid"]))
    out, told = process.communicate(timeout=DEADLINE_S)
    check(process.returncode == 1 and b"has ended" in told and out[:4] == b"\n\r\r\n",
          f"it ends with mrcd: {told.decode().strip()}")


def main():
    engine = sys.argv[1]
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrcctl")
    if subprocess.run(["which", "tshark"], capture_output=True, check=False).returncode:
        skip("tshark is not installed")
    with lab(f"capture-{engine.replace('_', '-')}", "--planes", str(PLANES), config=ENGINES[engine]) as fabric, \
            tempfile.TemporaryDirectory() as directory:
        check_sender(fabric, directory, engine)
        if engine == "xdp":
            check_receiver(fabric, directory)
            check_pings_and_probes(fabric, directory)
            check_queue_pair(fabric, directory)
            check_filters(fabric, directory)
            check_one_at_a_time_and_kill(fabric, directory)
            check_full_speed(fabric, directory)
            check_unread(fabric, directory)
            check_end(fabric)


if __name__ == "__main__":
    main()
