#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Transfers across the fabric, one case of the table a run: each by its engine and switches, under faults, and when
the far end dies. Every case ends with nothing left behind."""

import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

from lab_support import DEBUG_LOG, SILENCE, check, lab, left_behind, need_binaries, need_root
from transfer_support import random_file, run_client, server, transfer, wait_until

PLANES, SPINES = 4, 2
FILE_MB = 64
OUTAGE_S = 2
GOES_ON_BYTES = 16 << 20
DEAD_PEER_LIMIT_S = 10
HEADERS = 132  # of a packet beside its payload, outer header included


def say(client):
    report = client.report or {}
    print(f"   {report.get('status')}: {report.get('goodput_gbps', 0):.2f} Gbit/s, "
          f"longest stall {report.get('max_stall_us', 0):.0f} us, {report.get('retransmits')} sent again, "
          f"{'; '.join(client.complaints)}")


def check_file(fabric, megabytes=FILE_MB):
    """A file arrives byte by byte; returns the client's report."""
    with tempfile.TemporaryDirectory() as directory:
        path, output = random_file(directory, megabytes), pathlib.Path(directory) / "arrived"
        client, report, status = transfer(fabric, "--file", str(path), output=str(output))
        say(client)
        check(client.status == 0 and status == 0, f"both ends succeed {client.complaints}")
        check(output.read_bytes() == path.read_bytes(), f"{megabytes} MiB arrived as they were")
        check(client.report["verified"] is True and report["verified"] is True, "and both ends know it")
        check(client.report["sha256_sent"] == client.report["sha256_received"] == report["sha256_received"] != "",
              "by the same SHA-256")
    return client.report


def check_all_planes(fabric, report):
    """Each carries a part. How even the parts are is the simulator's matter (transfer_property_test): where this
    machine stands still for milliseconds a plane whose packets are late is left meanwhile, which is shown only when it
    loses a path by it (agent/protocol/paths/plane_suspension.h)."""
    retired = fabric.retirements("h0")
    check(all(reason == SILENCE for _, reason in retired), f"no path was lost for other than silence: {retired}")
    impeded = {plane for plane, _ in retired}
    for key in ("plane_tx_packets", "plane_rx_packets"):
        packets = report[key]
        check(len(packets) == PLANES and min(packets) > 0, f"{key} are of all planes: {packets}")
        others = [count for plane, count in enumerate(packets) if plane not in impeded] or [1]
        check(min(others) > 0.25 * max(others), f"and each of a part, but for {impeded or 'none'}")


def plain(fabric):
    report = check_file(fabric)
    check(report["payload_bytes"] == 3072, "payload is 3072 bytes on links of 3400")
    check_all_planes(fabric, report)


def small_mtu(fabric):
    payload = check_file(fabric)["payload_bytes"]
    check(payload == (1500 - HEADERS) // 64 * 64, f"payload is {payload} bytes on links of 1500")


def kernel_switches(fabric):
    for node, port in (("p0t0-0", "d0"), ("p1t0-1", "u1"), ("p2t1-0", "d1")):
        check("generic-receive-offload: off" in fabric.inside(node, "ethtool", "--show-features", port),
              f"{node} merges no packets that come by {port}, and vouches for no checksums")
    plain(fabric)


def large_payload(fabric):
    report = check_file(fabric)
    check(report["payload_bytes"] == 4096, "payload is 4096 bytes, each packet in two buffers")


def impaired(fabric):
    report = check_file(fabric)
    check(report["retransmits"] > 0, f"{report['retransmits']} packets were sent again")
    check(report["receiver"]["rx_duplicates"] > 0, f"{report['receiver']['rx_duplicates']} duplicates were put aside")
    check(report["receiver"]["bad_icrc"] > 0, f"{report['receiver']['bad_icrc']} corrupt packets were caught")


def one_plane(fabric):
    for plane in range(PLANES - 1):
        fabric.run("plane", str(plane), "down")
    report = check_file(fabric)
    arrived = report["plane_rx_packets"]
    check(arrived[PLANES - 1] > 0 and not any(arrived[:-1]), f"everything came by the last plane: {arrived}")


def outage(fabric):
    """All planes are out for two seconds in the middle of a run of verified WRITEs, which is ended once it goes on."""
    seen = {}

    def cut_and_watch(sample, process):
        if not seen and sample["bytes"] > 0:
            for plane in range(PLANES):
                fabric.run("plane", str(plane), "down")
            started = time.monotonic()
            wait_until(lambda: time.monotonic() - started >= OUTAGE_S, 2 * OUTAGE_S)
            for plane in range(PLANES):
                fabric.run("plane", str(plane), "up")
            seen["is_over"] = True
        # Samples from before and during the outage are read after it, too: only a stall that long comes after it.
        elif seen and "bytes" not in seen and sample["max_stall_us"] >= OUTAGE_S * 1e6:
            seen["bytes"] = sample["bytes"]
        elif "bytes" in seen and "stopped" not in seen and sample["bytes"] >= seen["bytes"] + GOES_ON_BYTES:
            seen["stopped"] = True
            process.send_signal(signal.SIGINT)

    client, report, _ = transfer(fabric, "-D", "50", "--verify", on_sample=cut_and_watch)
    say(client)
    seconds = client.report["max_stall_us"] / 1e6
    check("stopped" in seen, f"{GOES_ON_BYTES} bytes arrived after {seconds:.2f} s of outage")
    check(client.status == 130 and not client.complaints, f"no end failed {client.complaints}")
    check(client.report["verified"] is True and client.report["bytes"] == report["bytes"], "every byte is right")


def dead_peer(fabric):
    """The far end dies without a word: mrcd is killed, and the server stopped so that it cannot tell by TCP. The sender
    gives up when its retries are used up; the server, once it runs again, says why it ends."""
    hosts = {host["name"]: host for host in fabric.status()["hosts"]}
    killed_at = []

    def kill(sample, _process):
        if sample["bytes"] > 0 and not killed_at:
            process.send_signal(signal.SIGSTOP)
            os.kill(hosts["h1"]["pid"], signal.SIGKILL)
            killed_at.append(time.monotonic())

    with server(fabric, "--once") as (process, _):
        client = run_client(fabric, "-D", "60", on_sample=kill)
        seconds = time.monotonic() - killed_at[0] if killed_at else 0
        say(client)
        check(killed_at and client.status == 1, f"the sender fails {client.complaints}")
        check(seconds < DEAD_PEER_LIMIT_S, f"after {seconds:.1f} s of {DEAD_PEER_LIMIT_S}")
        check(client.report["status"] == "retry_exceeded", f"and says {client.report['status']}")
        check(len(client.complaints) == 1, "in one line")
        process.send_signal(signal.SIGCONT)
        check(process.wait(DEAD_PEER_LIMIT_S) == 1, "the server fails, too")
        check("mrcd of this host is gone" in process.stderr.read().decode(), "and names its daemon")


def once(action):
    """What to do at the first sample with bytes."""
    done = []

    def on_sample(sample, process):
        if sample["bytes"] > 0 and not done:
            done.append(action(process))
    return on_sample


def interrupted_client(fabric):
    client, report, status = transfer(fabric, "-D", "60",
                                      on_sample=once(lambda process: process.send_signal(signal.SIGINT)))
    say(client)
    check(client.status == 130 and status == 130, "SIGINT at the client ends both, the server being there for --once")
    check(client.report["status"] == report["status"] == "interrupted" and client.report["bytes"] == report["bytes"],
          "and both report the same bytes")


def interrupted_server(fabric):
    with server(fabric) as (process, said):
        client = run_client(fabric, "-D", "60", on_sample=once(lambda _: process.send_signal(signal.SIGINT)))
        report = json.loads(said.next(time.monotonic() + DEAD_PEER_LIMIT_S))
        check(client.status == 130 and client.report["status"] == report["status"] == "interrupted",
              "SIGINT at the server ends the run")
        check(process.wait(DEAD_PEER_LIMIT_S) == 130, "and the server")


def busy_server(fabric):
    """A client that comes while another is served; a large greeting is on its way when the server refuses it."""
    refused = []
    with server(fabric) as (process, said):
        for qps in ("1", "512"):
            def ask_too(first, qps=qps):
                refused.append(run_client(fabric, "-n", "1", "-s", "64", "-q", qps))
                first.send_signal(signal.SIGINT)

            client = run_client(fabric, "-D", "60", on_sample=once(ask_too))
            json.loads(said.next(time.monotonic() + DEAD_PEER_LIMIT_S))
            check(client.status == 130 and not client.complaints, f"the first is not disturbed {client.complaints}")
            check(refused[-1].status == 1 and "the server is busy with the test of" in refused[-1].complaints[0],
                  f"another with {qps} queue pairs is told at once: {refused[-1].complaints}")
        check(process.poll() is None, "the server is still there")


def client_after_client_at_once(fabric):
    """The next client starts as soon as one has ended, however that was; none finds the server busy."""
    with server(fabric) as (process, said):
        for how in (signal.SIGINT, signal.SIGKILL, None) * 3:
            if how is None:
                client = run_client(fabric, "-n", "10", "-s", "1.5M")
                check(client.status == 0 and client.report["size"] == 3 << 19, "a client is served, messages of 1.5M")
            else:
                client = run_client(fabric, "-D", "60", on_sample=once(lambda it, how=how: it.send_signal(how)))
                check(client.status in (130, -how) and not client.complaints, f"a client is ended by {how.name}")
            json.loads(said.next(time.monotonic() + DEAD_PEER_LIMIT_S))
        check(process.poll() is None, "the server is still there")


def client_after_client(fabric):
    """A server outlives clients that are killed, and speaks with the next."""
    with server(fabric) as (process, said):
        def idle_again():
            return json.loads(said.next(time.monotonic() + DEAD_PEER_LIMIT_S))

        killed = run_client(fabric, "-D", "60", on_sample=once(lambda client: client.kill()))
        check(killed.report is None, "a client is killed")
        check(idle_again()["status"] == "far_end", "the server reports that it is gone")
        client = run_client(fabric, "-n", "100", "-s", "256K", "-q", "4", "--verify", "--bidir")
        check(client.status == 0 and client.report["verified"] is True, "the next client is served, both ways at once")
        check(client.report["memory"] == "shared", "in memory that both share with mrcd, as the report says")
        idle_again()
        client = run_client(fabric, "-n", "5000", "-s", "64", "--verify", "--memory", "process")
        check(client.status == 0 and client.report["verified"] is True, "many small messages arrive whole")
        check(client.report["memory"] == "process", "in the processes' own memory, as the report says")
        idle_again()
        client = run_client(fabric, "--lat", "-n", "300")
        check(client.status == 0 and 0 < client.report["lat_us"]["p50"] <= client.report["lat_us"]["max"],
              f"latency is measured: {client.report['lat_us']}")
        idle_again()
        sleeping_ends(fabric, idle_again)
        at_a_rate(fabric)
        idle_again()
        process.send_signal(signal.SIGTERM)
        check(process.wait(DEAD_PEER_LIMIT_S) == 0, "SIGTERM ends an idle server")


def sleeping_ends(fabric, idle_again):
    messages = 300
    waits = {}
    with tempfile.TemporaryDirectory() as directory:
        path, counts = (pathlib.Path(directory) / name for name in ("percentiles.csv", "counts.csv"))
        counted = ("perf", "stat", "-x", ",", "-o", str(counts), "-e", "syscalls:sys_enter_ppoll")
        for options in ((), ("--events",)):
            client = run_client(fabric, "--lat", "-n", str(messages), "-s", "8000", "--percentiles", str(path),
                                *options, under=counted)
            waits[options] = int(re.search(r"^(\d+),", counts.read_text("ascii"), re.M)[1])
            check(client.status == 0 and client.report["messages"] == messages,
                  f"{messages} messages go back and forth {client.complaints}")
            check(client.report["events"] is bool(options), "the report says whether ends slept")
            head, *rows = path.read_text("ascii").splitlines()
            values = dict(tuple(map(float, row.split(","))) for row in rows)
            check(head == "percentile,us" and list(values.values()) == sorted(values.values()) and
                  abs(values[100] - client.report["lat_us"]["max"]) < 0.01, "their percentiles are in a file")
            idle_again()
    # Where a message is there already nobody waits, which on a busy machine is the case of many.
    check(waits[("--events",)] - waits[()] > messages / 6, f"and with --events the client sleeps for them {waits}")


def at_a_rate(fabric):
    rate = 2000
    client = run_client(fabric, "-s", "64", "-D", "1", "--rate", str(rate))
    limit = rate * client.report["duration_ms"] / 1000 + 1  # by the last completion
    check(client.status == 0 and 0 < client.report["messages"] <= limit and client.report["rate"] == rate,
          f"{client.report['messages']} messages, of {limit:.0f} that --rate allows")


def refusals(fabric):
    client = run_client(fabric, "-n", "1")
    check(client.status == 1 and "cannot reach a mrc-perf server" in client.complaints[0],
          f"without a server: {client.complaints}")
    with server(fabric, "--output", "/nonexistent/file"), tempfile.TemporaryDirectory() as directory:
        client = run_client(fabric, "--file", str(random_file(directory, 1)))
        check(client.status == 1 and "cannot write '/nonexistent/file.part'" in client.complaints[0],
              f"the far end's trouble is told: {client.complaints}")


def tool(fabric):
    interrupted_client(fabric)
    interrupted_server(fabric)
    busy_server(fabric)
    client_after_client_at_once(fabric)
    client_after_client(fabric)
    refusals(fabric)


# name: (the case, options of `up`); CONFIGS has what mrcd is told besides.
CASES = {
    "xdp": (plain, ("--engine", "xdp")),
    "af_xdp": (plain, ("--engine", "af_xdp")),
    "kernel_switch": (kernel_switches, ("--switch", "kernel")),
    "generic_hosts": (plain, ("--host-mode", "generic")),
    "generic_hosts_af_xdp": (plain, ("--host-mode", "generic", "--engine", "af_xdp")),
    "mtu_1500": (small_mtu, ("--mtu", "1500")),
    "multi_buffer": (large_payload, ("--mtu", "4400")),
    "impaired": (impaired, ("--topology", "IMPAIRED")),
    "one_plane": (one_plane, ()),
    "outage": (outage, ()),
    "dead_peer": (dead_peer, ()),
    "tool": (tool, ()),
}

CONFIGS = {large_payload: "[transmit]\npayload = 4096\n", plain: DEBUG_LOG, kernel_switches: DEBUG_LOG}

# Every path crosses one of these links once in each direction.
IMPAIRED = "".join(f'[[impair]]\na = "p{plane}t0-0"\nb = "p{plane}t1-{spine}"\nloss = "1%"\ncorrupt = "0.1%"\n'
                   f'duplicate = "1%"\n' for plane in range(PLANES) for spine in range(SPINES))


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: transfer_test.py CASE; cases: {', '.join(CASES)}")
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    case, options = CASES[sys.argv[1]]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as impaired_links:
        impaired_links.write(IMPAIRED)
        impaired_links.flush()
        options = [impaired_links.name if option == "IMPAIRED" else option for option in options]
        with lab("transfer", *options, config=CONFIGS.get(case, "")) as fabric:
            case(fabric)
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
