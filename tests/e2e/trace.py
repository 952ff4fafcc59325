#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`mrcctl trace` on a lab whose link to a host loses packets: nothing is written while it is off; each decision about a
loss is followed by the packet, sent again, or by its arrival; the counts are mrc-perf's; both hosts make one time line;
files for Perfetto are Chrome's Trace Event Format; filters; one at a time, killed ones, those that are too slow."""

import collections
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from lab_support import DEADLINE_S, binary, check, lab, need_binaries, need_root
from mrcctl import operator, run
from transfer_support import random_file, stopped, transfer, wait_until

PLANES = 2
LOSS = "2%"
AGAIN = ("again", "last")
ROWS = 32768  # MRC_TRACE_ROWS
SUMMARY = re.compile(r"(\d+) events; (\d+) lost")
CLOCKS = re.compile(r"is (-?[\d.]+) us ahead .* by (\d+) packets there and (\d+) back; they took ([\d.]+) us")


def tracing(here, *arguments, output=subprocess.DEVNULL):
    return here.recording("trace", "tracing on", *arguments, output=output)


def numbers(told):
    """Events, and those that were lost."""
    return [int(number) for number in SUMMARY.search(told).groups()]


def newest(here):
    return here.maps.row("trace_ring", 0)["newest"]


def send_file(fabric, directory, *arguments, megabytes=4):
    client, report, status = transfer(fabric, "--file", str(random_file(directory, megabytes)), *arguments)
    check(client.status == status == 0 and report["verified"], f"a file arrives whole {client.complaints}")
    return client.report


def events_in(path):
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    check("recording" in lines[0] and "lost" in lines[-1], "a recording has a first and a last line")
    return lines[1:-1], lines[-1]["lost"]


def check_off(fabric, directory, here, there):
    send_file(fabric, directory)
    check(newest(here) == newest(there) == 0, "nothing is written while nobody traces")


def check_losses(events, report):
    kinds = collections.Counter(event["event"] for event in events)
    check({"send", "sack", "ack", "loss", "state"} <= kinds.keys(), f"a sender tells {dict(kinds)}")
    sent = [event for event in events if event["event"] == "send"]
    again = [event for event in sent if event["reason"] in AGAIN]
    check(len(sent) == report["sender"]["tx_packets"] and len(again) == report["retransmits"] > 0,
          f"every packet that mrc-perf counts, {len(sent)}, of them {len(again)} again")
    left = collections.defaultdict(list)  # by queue pair and PSN: what made up for a loss, latest first
    reasons = collections.Counter()
    for event in reversed(events):
        key = event["qpn"], event["psn"]
        if event["event"] == "send" and event["reason"] == "again":
            left[key].append("again")
        elif event["event"] == "loss" and event["reason"] == "withdrawn":
            left[key].append("withdrawn")
        elif event["event"] == "loss":
            reasons[event["reason"]] += 1
            check_made_up_for(event, left[key])
    check(reasons.total() > 0, f"each of {reasons.total()} losses is made up for: {dict(reasons)}")


def check_made_up_for(event, later):
    if not later:
        check(False, f"a loss is followed by its packet, or its arrival: {event}")
    later.pop()


def check_order(events, lost):
    check(lost == 0 and [event["number"] for event in events] ==
          list(range(events[0]["number"], events[0]["number"] + len(events))), f"all of {len(events)} events are there")


def check_recordings(fabric, directory, here, there, paths):
    with open(paths[0], "w", encoding="utf-8") as first, open(paths[1], "w", encoding="utf-8") as second, \
            tracing(here, "-j", output=first) as sender, tracing(there, "-j", output=second) as receiver:
        report = send_file(fabric, directory)
    events, lost = events_in(paths[0])
    check(numbers(sender.told) == [len(events), lost], f"the sender's is counted: {sender.told.strip()}")
    check_order(events, lost)
    check_losses(events, report)
    events, lost = events_in(paths[1])
    check(numbers(receiver.told) == [len(events), lost], f"so is the receiver's: {receiver.told.strip()}")
    check_order(events, lost)
    fresh = [event for event in events if event["event"] == "arrive" and event["reason"] == "fresh"]
    check(len(fresh) == report["sender"]["tx_packets"] - report["retransmits"], f"{len(fresh)} packets arrive anew")


def check_chrome(path, hosts):
    trace = json.loads(path.read_text("utf-8"))
    events = trace["traceEvents"]
    by_phase = collections.Counter(event["ph"] for event in events)
    check(by_phase.keys() <= {"M", "i", "b", "e"} and by_phase["i"] > 0, f"{path.name} has phases {dict(by_phase)}")
    check(all(isinstance(event["name"], str) and isinstance(event["pid"], int) and isinstance(event["tid"], int)
              for event in events), "each event has a name, a process and a thread")
    timed = [event for event in events if event["ph"] != "M"]
    check(all(isinstance(event["ts"], (int, float)) and isinstance(event["cat"], str) for event in timed),
          "and but for names a time and a category")
    check(all(event["s"] == "t" and isinstance(event["args"], dict) for event in timed if event["ph"] == "i"),
          "instants are of a thread")
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    check([name.split("@")[0] for name in names] == hosts, f"processes are the hosts: {names}")
    threads = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    check({(event["pid"], event["tid"]) for event in timed} <= threads, "and threads their queue pairs")
    begins, ends = ({event["id"]: event["ts"] for event in timed if event["ph"] == phase} for phase in "be")
    check(begins.keys() == ends.keys(), f"{len(begins)} packets are bars that end")
    return begins, ends


def check_merged(here, there, paths, directory):
    merged, file = map(str, paths), pathlib.Path(directory) / "both.json"
    done = run("trace", "--merge", *merged, "-j", "-w", str(file))
    check(done.returncode == 0, f"two recordings are merged {done.stderr.strip()}")
    ahead, out, home, trip = (float(number) for number in CLOCKS.search(done.stderr).groups())
    # Both hosts of a lab have one clock: what is found is the error of the method.
    check(out > 0 < home and abs(ahead) <= trip / 2, f"clocks: {ahead} us ahead, round trip {trip} us")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    hosts = [here.instance, there.instance]
    check([line["merged_ns"] for line in lines] == sorted(line["merged_ns"] for line in lines) and
          {line["host"].split("@")[0] for line in lines} == set(hosts), f"one time line of {len(lines)} events")
    begins, ends = check_chrome(file, hosts)
    check(len(begins) == out + home and all(ends[number] >= begins[number] for number in begins),
          "each packet that both have seen arrives after it left")
    done = run("trace", "--merge", *map(str, paths), "--kind", "loss")
    check(done.returncode == 0 and done.stdout and all(" loss " in line for line in done.stdout.splitlines()),
          f"by kind, for people: {done.stdout.splitlines()[0]}")


def check_file(fabric, directory, here):
    path = pathlib.Path(directory) / "one.json"
    with tracing(here, "-w", str(path)) as process:
        send_file(fabric, directory)
    check(process.returncode == 0 and path.stat().st_mode & 0o777 == 0o600, "a file for Perfetto, for its owner only")
    check_chrome(path, [here.instance])


def check_filters(fabric, directory, here):
    chosen, path = [], pathlib.Path(directory) / "some.jsonl"

    def look(sample, client):
        if chosen or not sample["bytes"]:
            return
        chosen.append(here.json("qp", "list")[0])
        done = run("trace", "-j", "--instance", here.instance, "--qp", str(chosen[0]["qpn"]), "--kind", "send,sack",
                   "-c", "500")
        check(done.returncode == 0, f"one of two queue pairs is traced {done.stderr.strip()}")
        path.write_text(done.stdout, "utf-8")
        client.send_signal(signal.SIGINT)

    transfer(fabric, "-D", "300", "-q", "2", on_sample=look)
    events = events_in(path)[0]
    check(len(events) == 500 and {event["event"] for event in events} == {"send", "sack"}, "500 of these kinds")
    check({(event["qpn"], event["peer_qpn"]) for event in events} == {(chosen[0]["qpn"], chosen[0]["peer_qpn"])},
          "of this queue pair")


def refused(arguments, status, *words):
    done = run("trace", *arguments)
    check(done.returncode == status and all(word in done.stderr for word in words) and done.stderr.count("\n") == 1,
          f"{' '.join(arguments)} is refused: {done.stderr.strip()}")


def check_refusals(here, directory):
    garbage = pathlib.Path(directory) / "garbage"
    garbage.write_text("no trace\nat all\n", "utf-8")
    refused(("--instance", here.instance, "--qp", "77777"), 1, "no queue pair 77777", "mrcctl qp list")
    refused(("--kind", "dance"), 2, "dance", "loss")
    refused(("--merge", str(garbage), str(garbage)), 1, "line 1 of", "mrcctl trace --json")
    refused(("--merge", "/nowhere", str(garbage)), 1, "/nowhere: cannot read", "No such file")


def check_one_at_a_time_and_kill(fabric, directory, here):
    with tracing(here) as process:
        done = run("trace", "--instance", here.instance)
        check(done.returncode == 1 and f"process {process.pid} traces already" in done.stderr,
              f"a second one is refused: {done.stderr.strip()}")
        process.kill()

    def is_off():  # the worker looks when it has something to do
        send_file(fabric, directory, megabytes=1)
        return here.maps.row("trace_ring", 0)["lease_ns"] == 0

    check(wait_until(is_off, DEADLINE_S), "killed, it leaves nothing on")
    before = newest(here)
    send_file(fabric, directory)
    check(newest(here) == before, "and nothing is written any more")


def check_too_slow(fabric, here):
    """One that is stopped misses rows, or its lease is over: it says so, and no packet waits for it."""
    held_up = []
    with tracing(here, "-j") as process:
        def hold_up(sample, client):
            if held_up or not sample["bytes"]:
                return
            with stopped(process.pid):
                begin = newest(here)
                held_up.append(wait_until(lambda: newest(here) > begin + ROWS or
                                          here.maps.row("trace_ring", 0)["lease_ns"] == 0, DEADLINE_S))
            client.send_signal(signal.SIGINT)

        client, report, status = transfer(fabric, "-D", "300", "--verify", on_sample=hold_up)
    check(held_up == [True] and (numbers(process.told)[1] > 0 or "held up for a second" in process.told),
          f"one that is too slow says so: {process.told.strip()}")
    check(report["verified"] is True and client.status == status == 128 + signal.SIGINT,
          f"and no byte is lost {client.complaints}")


def check_end(fabric, there):
    with tracing(there, "-j", output=subprocess.PIPE) as process:
        fabric.inside("h1", "kill", "-KILL", str(fabric.host("h1")["pid"]))
        out, told = process.communicate(timeout=DEADLINE_S)
        check(process.returncode == 1 and "has ended" in told and '"lost"' in out.splitlines()[-1],
              f"it ends with a killed mrcd: {told.strip()}")
        process.send_signal = lambda _: None
        process.communicate = lambda timeout: (out, told)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrcctl")
    with lab("trace", "--planes", str(PLANES), "--spines", "2") as fabric, tempfile.TemporaryDirectory() as directory:
        here, there = operator(fabric, "h0"), operator(fabric, "h1")
        paths = [pathlib.Path(directory) / name for name in ("a.jsonl", "b.jsonl")]
        check_off(fabric, directory, here, there)
        fabric.run("impair", "h1", "p0t0-1", "--loss", LOSS)
        check_recordings(fabric, directory, here, there, paths)
        check_merged(here, there, paths, directory)
        check_file(fabric, directory, here)
        check_filters(fabric, directory, here)
        check_refusals(here, directory)
        check_one_at_a_time_and_kill(fabric, directory, here)
        check_too_slow(fabric, here)
        check_end(fabric, there)


if __name__ == "__main__":
    sys.exit(main())
