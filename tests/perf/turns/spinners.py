# SPDX-License-Identifier: Apache-2.0
"""Programs that want every processor, and how long mrcd's workers wait for one beside them."""

import contextlib
import json
import os
import subprocess
import sys

from lab_support import binary

SPIN = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
print(flush=True)
while True:
    pass
"""
LAG_SHIFT = 12  # MRC_RTT_SHIFT of include/mrc/abi/maps.h


@contextlib.contextmanager
def spinners():
    """For each CPU a process, on that one alone, that computes without a pause."""
    running = []
    with contextlib.ExitStack() as ends:
        for cpu in sorted(os.sched_getaffinity(0)):
            running.append(ends.enter_context(subprocess.Popen([sys.executable, "-c", SPIN, str(cpu)],
                                                               stdout=subprocess.PIPE)))
            ends.callback(running[-1].kill)
            running[-1].stdout.readline()
        yield running


def workers_of(fabric, host):
    """Their rows, as mrcctl has them."""
    said = subprocess.run([binary("mrcctl"), "--json", "--instance", fabric.host(host)["instance"], "status"],
                          capture_output=True, check=True).stdout
    return json.loads(said)["workers"]


def below_which(counts, share):
    """Microseconds: the end of the bucket in which that share of all is reached; None: it has no end, or is none."""
    reached = 0
    for number, count in enumerate(counts[:-1]):
        reached += count
        if reached and reached >= share * sum(counts):
            return (1 << LAG_SHIFT + number) / 1e3
    return None


def between(before, after):
    """Of workers' rows, in the same order: how long they waited for a processor in all, and how long packets for
    them."""
    counts = [sum(late[bucket] - early[bucket] for early, late in zip(
        (row["lag_log2"] for row in before), (row["lag_log2"] for row in after)))
              for bucket in range(len(after[0]["lag_log2"]))]
    lags = {f"lag_{name}_us": below_which(counts, share) for name, share in (("p50", 0.5), ("p99", 0.99))}
    return {"waited_ms": sum(late["waited_ns"] - early["waited_ns"] for early, late in zip(before, after)) / 1e6} | {
        name: value for name, value in lags.items() if value is not None}


def workers_watched(run):
    """`run`, and what the workers of both hosts waited meanwhile."""
    def beside(at, seconds):
        def all_workers():
            return [row for host in ("h0", "h1") for row in workers_of(at.fabric, host)]
        before = all_workers()
        found = run(at, seconds)
        return found | between(before, all_workers())
    return beside


def beside_spinners(run):
    def beside(at, seconds):
        with spinners():
            return run(at, seconds)
    return beside
