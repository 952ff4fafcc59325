#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Incast: seven hosts, each behind a leaf of its own, send to an eighth; then the ports of the spines to its leaf get
slow, and mark and trim. Packets are trimmed and answered by NACKs, CE marks come back, the seven get equal shares of
what gets through, and all that was posted completes. The queue of an XDP switch signals but does not delay: nothing is
said about the sum of the shares."""

import contextlib
import json
import signal
import sys
import time

from lab_support import check, lab, need_binaries, need_root
from pinned_maps import host_maps
from transfer_support import DEADLINE_S, lines_of, start_perf, wait_until

SENDERS, PLANES = 7, 2
RECEIVER = f"h{SENDERS}"
MOST_KILOBITS, SLOWER = 300000, 2  # of each plane; than what this machine does without a limit
LONGEST_S = 100  # ended before, by SIGINT
SETTLING_BYTES = 16 << 20
MEASURED_S = 3.5  # at the ports' rate
LEAST_FAIRNESS = 0.9
CONFIG = "[transmit]\npayload = 1024\n[transport]\nlink_gbps = 1\nbase_rtt_us = 50\nwindow_bytes = 65536\n"


def jain(shares):
    """Jain's fairness index: 1 when all are equal, 1/n when one has everything."""
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def check_quietly(holds, what):
    if not holds:
        sys.exit(f"FAIL: {what()}")


def rows_in_use(maps):
    """Numbers of the receiver's queue pairs to which something has come."""
    return [number for number, row in maps.queue_pairs().items() if row["rx_bytes"]]


def received(maps, numbers):
    """Payload bytes by queue pair."""
    return [row["rx_bytes"] for row in maps.some_rows("qps", numbers).values()]


def echoes(fabric, field):
    return sum(host_maps(f"{fabric.prefix}-h{number}").sum("signals", field) for number in range(SENDERS))


def measure(fabric, clients):
    """Bytes that each got through the slow ports."""
    maps, numbers = host_maps(f"{fabric.prefix}-{RECEIVER}"), []

    def all_send():
        nonlocal numbers
        ended = [client for client in clients if client.poll() is not None]
        check_quietly(not ended, lambda: f"a sender has ended: {ended[0].stderr.read().decode()}")
        numbers = rows_in_use(maps)
        return len(numbers) == SENDERS

    def pass_bytes(count):
        begin = received(maps, numbers)
        check_quietly(wait_until(lambda: sum(received(maps, numbers)) - sum(begin) >= count, DEADLINE_S),
                      lambda: f"{count} bytes did not arrive within {DEADLINE_S} s")
        return [after - before for before, after in zip(begin, received(maps, numbers))]

    check_quietly(wait_until(all_send, DEADLINE_S), lambda: f"only {len(numbers)} of {SENDERS} sent anything")
    begin = time.monotonic()
    pass_bytes(SETTLING_BYTES)
    kilobits = min(MOST_KILOBITS, SETTLING_BYTES * 8 / 1000 / (time.monotonic() - begin) / PLANES / SLOWER)
    print(f"   the ports get {kilobits / 1000:.0f} Mbit/s each")
    for plane in range(PLANES):
        fabric.run("impair", f"p{plane}t1-0", f"p{plane}t0-{SENDERS}", "--rate", f"{kilobits:.0f}kbit", "--rtt", "4ms",
                   "--ecn-threshold", "20%,80%", "--trim", "--one-way")
    pass_bytes(SETTLING_BYTES)
    shares = pass_bytes(kilobits * 1000 / 8 * PLANES * MEASURED_S)
    for plane in range(PLANES):
        fabric.run("impair", f"p{plane}t1-0", f"p{plane}t0-{SENDERS}", "--clear", "--one-way")
    return shares


def end_of(clients):
    """Interrupts all; each finishes what it has posted. Their reports."""
    for client in clients:
        client.send_signal(signal.SIGINT)
    reports = []
    for client in clients:
        out, err = client.communicate(timeout=DEADLINE_S)
        check(client.returncode == 130 and not err, f"a sender ends {err.decode().strip()}")
        reports.append(json.loads(out))
    return reports


def check_incast(fabric):
    address = fabric.host(RECEIVER)["mrc_address"]
    with contextlib.ExitStack() as stack:
        def start(host, *arguments):
            process = start_perf(fabric, host, "--json", *arguments)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        servers = [start(RECEIVER, "--once", "--port", "0") for _ in range(SENDERS)]
        listening = [lines_of(server.stdout).next(time.monotonic() + DEADLINE_S) for server in servers]
        ports = [line.split()[-1] for line in listening]
        clients = [start(f"h{number}", address, "--port", port, "-D", str(LONGEST_S), "-s", "64K",
                         "--window", "8", "--verify")
                   for number, port in enumerate(ports)]
        shares = measure(fabric, clients)
        reports = end_of(clients)
        arrived = [json.loads(server.communicate(timeout=DEADLINE_S)[0])["bytes"] for server in servers]
    nacks = [report["nacks"] for report in reports]
    print("   MB through the slow ports: " + " ".join(f"{share / 1e6:.1f}" for share in shares) + f"; NACKs {nacks}")
    check(all(report["verified"] for report in reports), "every byte is right")
    check([report["bytes"] for report in reports] == arrived, "and whatever was posted has completed")
    check(sum(nacks) > 0, f"{sum(nacks)} NACKs answered trimmed packets")
    check(echoes(fabric, "ce_echoes") > 0, f"{echoes(fabric, 'ce_echoes')} CE marks came back")
    check(jain(shares) >= LEAST_FAIRNESS, f"shares are equal: Jain's index {jain(shares):.3f}")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    hosts = str(SENDERS + 1)
    with lab("incast", "--planes", str(PLANES), "--leaves", hosts, "--spines", "1", "--hosts", hosts,
             config=CONFIG) as fabric:
        check_incast(fabric)


if __name__ == "__main__":
    main()
