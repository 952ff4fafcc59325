#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Gloo over libmrc-gloo, a process on each host of a lab, one case of the table a run: messages, what does not complete,
collectives while a plane is cut, a rank that is killed. Every byte is checked by the ranks themselves (tests/gloo)."""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time

from lab_support import ROOT, binary, check, lab, left_behind, need_binaries, need_root, skip
from transfer_support import wait_until

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from lab.processes import instance_of  # noqa: E402

PLANES, CUT_PLANE = 2, 1
LIMIT_S = 100
ROUNDS = 12
CUT_ROUND, RESTORE_ROUND = 3, 7
TIMEOUT_MS = 4000


class ranks:
    """mrc-gloo-rank on h0, h1, …, each with its output in a file."""

    def __init__(self, fabric, size, folder, test, count=0):
        self.logs = [os.path.join(folder, f"rank{rank}.log") for rank in range(size)]
        self.processes = []
        store = os.path.join(folder, "store")
        os.mkdir(store)
        for rank, log in enumerate(self.logs):
            host = f"h{rank}"
            argv = fabric.enter(host, binary("mrc-gloo-rank"), test, str(rank), str(size), store, str(count))
            env = {**os.environ, "MRC_INSTANCE": instance_of(fabric.prefix, host)}
            with open(log, "wb") as output:
                self.processes.append(subprocess.Popen(argv, env=env, stdout=output, stderr=output,
                                                       stdin=subprocess.DEVNULL))

    def said(self, rank):
        with open(self.logs[rank], encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait_for(self, rank, text):
        def there():
            if self.processes[rank].poll() not in (None, 0):
                sys.exit(f"FAIL: rank {rank} ended before '{text}': {self.said(rank)}")
            return text in self.said(rank)
        wait_until(there, LIMIT_S)

    def all_succeed(self):
        deadline = time.monotonic() + LIMIT_S
        for rank, process in enumerate(self.processes):
            try:
                status = process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                sys.exit(f"FAIL: rank {rank} hangs after {self.said(rank)}")
            if status != 0:
                sys.exit(f"FAIL: rank {rank}: status {status}: {self.said(rank)}")

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


@contextlib.contextmanager
def running(fabric, size, test, count=0):
    with tempfile.TemporaryDirectory() as folder:
        started = ranks(fabric, size, folder, test, count)
        try:
            yield started
        finally:
            started.end()


def messages(fabric):
    with running(fabric, 4, "messages") as all_ranks:
        all_ranks.all_succeed()
        check(all_ranks.said(3).endswith("third context\n"), "4 ranks: all sizes, slots, threads, from any, contexts")


def failures(fabric):
    with running(fabric, 2, "failures") as all_ranks:
        all_ranks.all_succeed()
        check(all_ranks.said(0).endswith("the far end closes\n"), "what does not complete fails, and names the rank")


def collectives(fabric):
    with running(fabric, 4, "collectives", ROUNDS) as all_ranks:
        all_ranks.wait_for(0, f"round {CUT_ROUND}\n")
        fabric.run("plane", str(CUT_PLANE), "down")
        check(f"round {ROUNDS - 1}\n" not in all_ranks.said(0), f"plane {CUT_PLANE} is cut in the middle")
        all_ranks.wait_for(0, f"round {RESTORE_ROUND}\n")
        fabric.run("plane", str(CUT_PLANE), "up")
        all_ranks.all_succeed()
        check(all(f"round {ROUNDS - 1}\n" in all_ranks.said(rank) for rank in range(4)),
              f"4 ranks: {ROUNDS} rounds of all collectives, every number right")


def killed(fabric):
    with running(fabric, 3, "survivor", TIMEOUT_MS) as all_ranks:
        for rank in range(3):
            all_ranks.wait_for(rank, "running\n")
        all_ranks.processes[1].kill()
        all_ranks.processes[1].wait()
        for rank in (0, 2):
            all_ranks.processes[rank].wait(LIMIT_S)
            found = re.search(r"after (\d+) ms: (.*rank \d+.*)", all_ranks.said(rank))
            check(found, f"rank {rank} fails: {all_ranks.said(rank).splitlines()[-1]}")
            check(int(found[1]) < TIMEOUT_MS + 2000, f"within its time-out: {found[1]} ms of {TIMEOUT_MS}")
            check(all_ranks.processes[rank].returncode == 0, "and ends in order")


# name: (the case, hosts)
CASES = {"messages": (messages, 4), "failures": (failures, 2), "collectives": (collectives, 4), "killed": (killed, 3)}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: gloo_ranks.py CASE; cases: {', '.join(CASES)}")
    need_root()
    need_binaries("mrcd", "mrc-switch")
    if not os.access(binary("mrc-gloo-rank"), os.X_OK):
        skip("libmrc-gloo is not built: libgloo-dev is not installed")
    case, hosts = CASES[sys.argv[1]]
    with lab("gloo", "--planes", str(PLANES), "--hosts", str(hosts)) as fabric:
        case(fabric)
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
