#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrc-collectives: every operation at several sizes on the hosts of a lab, by MRC and by Gloo's TCP, every byte of
every result verified; ranks that are killed, or do not come; its manual page, and wrong command lines."""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/perf")]

from lab_support import binary, check, lab, left_behind, need_binaries, need_root  # noqa: E402
from manual import between, check_refused, described, options_of, page, run  # noqa: E402
from rank_processes import LIMIT_S  # noqa: E402
from turns.collective_ranks import collective_ranks  # noqa: E402
from turns.collectives import OPERATIONS  # noqa: E402

# What is asked for, and of how many bytes the buffer is then where each of three ranks has a part: whole words of each.
SIZES = {"8": 12, "4K": 4104, "300001": 300012, "2M": 2097156}
RESULTS = 5
BATCH_BYTES = 4 << 20  # at most, of results back to back
# Where sessions are scheduled as groups (CONFIG_SCHED_AUTOGROUP), all ranks have one share, and each mrcd of the labs
# that run beside has another: ranks may starve for seconds.
TIMEOUT_S = 12
MANY_RESULTS = 2000  # of a megabyte: no rank is done with them when another is killed

WHERE = ("--rank", "0", "--ranks", "2", "--master", "::1:1")
REFUSED = {
    ("--nonsense",): ("--nonsense",),
    ("--operations", "gather", *WHERE): ("'gather'", "all-reduce, all-gather, reduce-scatter, all-to-all, broadcast"),
    ("--sizes", "3x", *WHERE): ("'3x'", "1.5M"),
    ("--sizes", "2G", *WHERE): ("'2G'", "1G"),
    ("--sizes", "8,16:8", *WHERE): ("'16:8'", "FROM not above TO"),
    ("--transport", "udp", *WHERE): ("--transport", "tcp"),
    ("--iterations", "0", *WHERE): ("--iterations is 0", "1 to 1000000"),
    ("--interface", "eth0", *WHERE): ("--interface", "--transport tcp"),
    ("--transport", "tcp", "--interface", "eth0", "--address", "::1", *WHERE): ("exclude each other",),
    ("--rank", "2", "--ranks", "2", "--master", "::1:1"): ("--rank is 2", "0 to 1"),
    ("--rank", "0", "--ranks", "1", "--master", "::1:1"): ("--ranks is 1", "2 to 256"),
    ("--rank", "0", "--ranks", "2"): ("--master", "MASTER_ADDR"),
    ("--rank", "0", "--ranks", "2", "--master", "::1:"): ("--master is '::1:'", "192.0.2.1:29500"),
    ("--timeout", "0", *WHERE): ("--timeout is 0", "1 to 3600"),
    (): ("--ranks is missing", "WORLD_SIZE"),
}


def buffer_bytes(operation, size):
    if operation in ("all-reduce", "broadcast"):
        return {"8": 8, "4K": 4096, "300001": 300004, "2M": 2 << 20}[size]
    return SIZES[size]


def verified_bytes(operation, size, ranks):
    """Of all ranks, of all results that there are."""
    whole = buffer_bytes(operation, size)
    first = max(1, min(RESULTS, BATCH_BYTES // whole))  # a batch that is not timed, but verified
    return ranks * (RESULTS + first) * (whole // ranks if operation == "reduce-scatter" else whole)


def check_report(report, transport, ranks):
    check((report["transport"], report["ranks"]) == (transport, ranks), f"{ranks} ranks, {transport}")
    found = {(row["operation"], row["bytes"]): (row["results"], row["verified_bytes"]) for row in report["rows"]}
    wanted = {(operation, buffer_bytes(operation, size)): (RESULTS, verified_bytes(operation, size, ranks))
              for operation in OPERATIONS for size in SIZES}
    check(found == wanted, f"every byte of {len(wanted)} operations and sizes is verified, but of "
          f"{sorted(set(found.items()) ^ set(wanted.items()))}")
    check(all(0 < row["latency_us"]["min"] <= row["latency_us"]["median"] <= row["latency_us"]["max"] and
              row["gbps"] > 0 and row["bus_gbps"] > 0 for row in report["rows"]), "and timed")


def all_operations(fabric, transport, *options):
    with tempfile.TemporaryDirectory() as folder:
        started = collective_ranks(fabric, folder, 3, fabric.host("h0")["mrc_address"], "--sizes", ",".join(SIZES),
                                   "--iterations", str(RESULTS), "--transport", transport, *options)
        try:
            check_report(started.report(), transport, 3)
            check(started.said(1) == started.said(2) == "", "ranks other than 0 say nothing")
        finally:
            started.end()


def check_killed(fabric):
    """Rank 1 ends while the others need it."""
    with tempfile.TemporaryDirectory() as folder:
        started = collective_ranks(fabric, folder, 3, fabric.host("h0")["mrc_address"], "--sizes", "8,1M",
                                   "--iterations", str(MANY_RESULTS), "--operations", "all-reduce", "--timeout",
                                   str(TIMEOUT_S))
        try:
            started.wait_for(0, "1 of 2: all-reduce")
            started.processes[1].kill()
            last = {}
            for rank in (0, 2):
                status = started.processes[rank].wait(LIMIT_S)
                last[rank] = started.said(rank).splitlines()[-1]
                check(status == 1 and re.fullmatch(f"mrc-collectives: rank {rank}: .*mrc: .*rank [012].*", last[rank]),
                      f"rank {rank} ends, and says whom it misses: {last[rank]}")
            check(any(re.search("mrc: .*rank 1", text) for text in last.values()), "one of them names rank 1")
        finally:
            started.end()


def check_absent(fabric):
    """Rank 1 does not come; then nobody is rank 0."""
    address = fabric.host("h0")["mrc_address"]
    for rank, words in (("0", "rank 1 has not come"), ("1", "rank 0 does not answer")):
        done = subprocess.run(fabric.enter("h0", binary("mrc-collectives"), "--transport", "tcp", "--interface",
                                           "mrcnet0", "--rank", rank, "--ranks", "2", "--master", f"[{address}]:29500",
                                           "--timeout", "1"), text=True, capture_output=True, check=False)
        check(done.returncode == 1 and done.stderr.count("\n") == 1 and
              done.stderr.startswith(f"mrc-collectives: rank {rank}: {words}"), done.stderr.strip())


def check_command_line():
    done = run("mrc-collectives", "--help")
    check(done.returncode == 0 and not done.stderr, "mrc-collectives has --help")
    differing = described(between(page("mrc-collectives.1"), ".SH OPTIONS", ".SH REPORT")) ^ options_of(
        done.stdout.split("Options:")[1])
    check(not differing, f"the manual describes the options of --help {sorted(differing) or ''}")
    check_refused("mrc-collectives", REFUSED)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-collectives")
    check_command_line()
    with lab("collectives", "--planes", "2", "--hosts", "3") as fabric:
        all_operations(fabric, "mrc")
        all_operations(fabric, "tcp", "--interface", "mrcnet0")
        check_absent(fabric)
        check_killed(fabric)
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
