#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trimming: a full virtual queue cuts packets instead of losing them; the receiver answers each by a NACK, the sender
sends it again, and the file arrives whole. On the leaf's port to the host (TRIMMED_LASTHOP), and on the way up."""

import tempfile

from lab_support import DEBUG_LOG, SILENCE, check, lab, need_binaries, need_root
from pinned_maps import host_maps
from transfer_support import random_file, transfer

FILE_MB = 4
RATE = "500Mbit"
# More in flight than the queue of one BDP (32 KB at least) holds.
QUEUES = {"to the host": (("p0t0-1", "h1"), ("p1t0-1", "h1")),
          "to the spine": (("p0t0-0", "p0t1-0"), ("p1t0-0", "p1t1-0"))}


def totals(fabric, switches):
    receiver, sender = (host_maps(f"{fabric.prefix}-{host}") for host in ("h1", "h0"))
    verdicts = [host_maps(f"{fabric.prefix}/{switch}").verdicts() for switch in switches]
    return {"cut": sum(counts["MRC_SW_TRIMMED"] for counts in verdicts),
            "dropped": sum(counts["MRC_SW_DROP_QUEUE"] + counts["MRC_SW_DROP_TRIM_QUEUE"] for counts in verdicts),
            "arrived": receiver.sum("signals", "trims"), "echoed": sender.sum("signals", "trim_echoes")}


def check_trimming(fabric, directory, where, ports):
    print(f"queues {where}:")
    switches = [switch for switch, _ in ports]
    for port in ports:
        fabric.run("impair", *port, "--rate", RATE, "--trim", "--one-way")
    before = totals(fabric, switches)
    client, server, status = transfer(fabric, "--file", str(random_file(directory, FILE_MB)))
    after = totals(fabric, switches)
    for port in ports:
        fabric.run("impair", *port, "--clear", "--one-way")
    report = client.report
    check(client.status == status == 0 and report["verified"] and server["verified"],
          f"the file arrives whole {client.complaints}")
    check(report["goodput_gbps"] > 0, f"at {report['goodput_gbps']:.2f} Gbit/s through two ports of {RATE}")
    counts = {key: after[key] - before[key] for key in after}
    check(0 < counts["arrived"] <= counts["cut"], f"{counts['cut']} packets were cut, {counts['arrived']} arrived cut")
    # A packet that has arrived whole by another transmission needs no NACK.
    check(0 < report["nacks"] <= counts["echoed"] <= counts["arrived"],
          f"{counts['echoed']} were answered by a NACK, of which the sender took {report['nacks']}")
    # The sender or the receiver may have stood still for a while, on a busy machine: that is silence, not congestion.
    retired = fabric.retirements("h0")
    check(all(reason == SILENCE for _, reason in retired), f"and congestion has cost no path its place: {retired}")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    with lab("trimming", "--planes", "2", "--spines", "1", config=DEBUG_LOG) as fabric, \
            tempfile.TemporaryDirectory() as directory:
        for where, ports in QUEUES.items():
            check_trimming(fabric, directory, where, ports)


if __name__ == "__main__":
    main()
