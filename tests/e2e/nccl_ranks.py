#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""libnccl-net-mrc without a GPU: a program that loads it and calls it as NCCL's proxy does (tests/nccl), a process on
each host of a lab or several, one case of the table a run: all that NCCL may ask of two ends, collectives while a
plane is cut, a rank that is killed, one that leaves, a network that goes dark, an mrcd that is killed and started
again. Every byte is checked by the ranks."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from lab_support import DEADLINE_S, ROOT, binary, check, lab, left_behind, need_binaries, need_root
from rank_processes import ranks
from transfer_support import wait_until

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from lab.processes import instance_of  # noqa: E402

PLANES, CUT_PLANE = 2, 1
ROUNDS = 5
CUT_ROUND, RESTORE_ROUND = 1, 3
REMOTE_ERROR, SYSTEM_ERROR = 6, 2
LIBRARIES = os.path.join(os.path.dirname(binary("")), "../lib")


class nccl_ranks(ranks):
    def __init__(self, fabric, folder, tests, rounds=0):
        handles = os.path.join(folder, "handles")
        os.mkdir(handles)
        super().__init__(fabric, folder, [
            ([binary("mrc-nccl-rank"), test, str(rank), str(len(tests)), handles, str(rounds)],
             {"NCCL_NET_PLUGIN": "mrc", "LD_LIBRARY_PATH": LIBRARIES, **self.environment(fabric, rank)})
            for rank, test in enumerate(tests)])

    @staticmethod
    def environment(_fabric, _rank):
        """What a rank's environment has besides."""
        return {}

    def tell(self, rank, word):
        self.processes[rank].stdin.write(f"{word}\n".encode())
        self.processes[rank].stdin.flush()

    def failure_of(self, rank, code, *reasons):
        """The rank's own words about its end, with NCCL's error code, the peer and one of these reasons."""
        self.wait_for(rank, "closed\n")
        found = re.search(r"^code (\d+): .*", self.said(rank), re.M)
        check(found and int(found[1]) == code and any(reason in found[0] for reason in reasons),
              f"rank {rank}: {found[0] if found else self.said(rank)}")


@contextlib.contextmanager
def running(fabric, tests, rounds=0):
    with tempfile.TemporaryDirectory() as folder:
        started = nccl_ranks(fabric, folder, tests, rounds)
        try:
            yield started
        finally:
            started.end()


def queue_pairs(fabric, host):
    done = subprocess.run([binary("mrcctl"), "qp", "list", "-j", "--instance", instance_of(fabric.prefix, host)],
                          text=True, capture_output=True, check=True)
    return json.loads(done.stdout)


def check_nothing_is_left(fabric, hosts):
    """In daemons, of what programs have closed that still run."""
    def nothing():
        return not any(queue_pairs(fabric, host) for host in hosts)
    check(wait_until(nothing, DEADLINE_S), f"no queue pair is left on {', '.join(hosts)}")


def messages(fabric):
    with running(fabric, ["messages"] * 2) as both:
        for rank in range(2):
            both.wait_for(rank, "all closed\n")
        check_nothing_is_left(fabric, ["h0", "h1"])
        both.all_succeed()
        check(all(f"v{version} complete\n" in both.said(rank) for version in (12, 11, 8) for rank in range(2)),
              "sizes, groups, limits, misuse, unknown peers, ten times anew, by versions 12, 11 and 8")


def with_a_plane_cut(fabric, size, hosts):
    with running(fabric, ["collectives"] * size, ROUNDS) as all_ranks:
        all_ranks.wait_for(0, f"round {CUT_ROUND}\n")
        fabric.run("plane", str(CUT_PLANE), "down")
        check(f"round {ROUNDS - 1}\n" not in all_ranks.said(0), f"plane {CUT_PLANE} is cut in the middle")
        all_ranks.wait_for(0, f"round {RESTORE_ROUND}\n")
        fabric.run("plane", str(CUT_PLANE), "up")
        all_ranks.all_succeed()
        check(all(all_ranks.said(rank).endswith("all rounds\n") for rank in range(size)),
              f"{size} ranks, 2 communicators, 2 channels: {ROUNDS} rounds of all-reduce and all-to-all, "
              "every byte right")
    check_nothing_is_left(fabric, hosts)


def collectives(fabric):
    with_a_plane_cut(fabric, 3, ["h0", "h1", "h2"])


GONE = ("its process has ended, or failed", "it has closed the connection", "its memory cannot be written",
        "it does not answer any more")


def one_is_killed(fabric, test):
    with running(fabric, [test] * 3) as all_ranks:
        for rank in range(3):
            all_ranks.wait_for(rank, "running\n")
        all_ranks.processes[1].kill()
        all_ranks.processes[1].wait()
        for rank in (0, 2):
            all_ranks.failure_of(rank, REMOTE_ERROR, *GONE)
        check_nothing_is_left(fabric, ["h0", "h1", "h2"])


def killed(fabric):
    one_is_killed(fabric, "busy")


def killed_waiting(fabric):
    one_is_killed(fabric, "waiting")


def dark(fabric):
    """A network that is dead altogether: nobody waits for ever."""
    with running(fabric, ["busy", "busy"]) as both:
        for rank in range(2):
            both.wait_for(rank, "running\n")
        for plane in range(PLANES):
            fabric.run("plane", str(plane), "down")
        for rank in range(2):
            both.failure_of(rank, REMOTE_ERROR, "it does not answer any more")
        both.all_succeed()


def leaver(fabric):
    with running(fabric, ["waiting", "leaver", "waiting"]) as all_ranks:
        for rank in range(3):
            all_ranks.wait_for(rank, "running\n")
        all_ranks.tell(1, "leave")
        all_ranks.wait_for(1, "left\n")
        for rank in (0, 2):
            all_ranks.failure_of(rank, REMOTE_ERROR, *GONE)
        check_nothing_is_left(fabric, ["h0", "h1", "h2"])
        all_ranks.all_succeed()


def restarted(fabric):
    """The rank whose mrcd is killed has a system error, the others a remote one; with a new mrcd all begin anew, in the
    same processes."""
    with running(fabric, ["busy"] * 3) as all_ranks, tempfile.TemporaryFile("w+") as log:
        for rank in range(3):
            all_ranks.wait_for(rank, "running\n")
        host = fabric.host("h1")
        os.kill(host["pid"], signal.SIGKILL)
        all_ranks.failure_of(1, SYSTEM_ERROR, "mrcd of this host is gone")
        for rank in (0, 2):
            all_ranks.failure_of(rank, REMOTE_ERROR, *GONE)
        daemon = subprocess.Popen(fabric.enter("h1", binary("mrcd"), "--config", host["config"]),
                                  stdout=log, stderr=log)
        try:
            check(wait_until(lambda: "READY" in os.pread(log.fileno(), 1 << 20, 0).decode(), DEADLINE_S),
                  "a new mrcd runs on h1")
            for rank in range(3):
                all_ranks.tell(rank, "again")
            for rank in range(3):
                all_ranks.wait_for(rank, "again complete\n")
            check(True, "the same processes go on with it")
            all_ranks.all_succeed()
            check_nothing_is_left(fabric, ["h0", "h1", "h2"])
        finally:
            daemon.kill()
            daemon.wait()


def one_host(fabric):
    """Both ranks are on one host, none of whose planes carries anything."""
    for plane in range(PLANES):
        fabric.run("plane", str(plane), "down")
    for test in ("messages", "collectives"):
        with running(fabric, [test] * 2, ROUNDS) as both:
            both.all_succeed()
            check(True, f"2 ranks on one host: {test}")
    with running(fabric, ["busy"] * 2) as both:
        for rank in range(2):
            both.wait_for(rank, "running\n")
        both.processes[1].kill()
        both.processes[1].wait()
        both.failure_of(0, REMOTE_ERROR, *GONE)
    check_nothing_is_left(fabric, ["h0"])


def two_a_host(fabric):
    with_a_plane_cut(fabric, 4, ["h0", "h1"])


# name: (the case, hosts)
CASES = {"messages": (messages, 2), "collectives": (collectives, 3), "killed": (killed, 3),
         "killed_waiting": (killed_waiting, 3), "leaver": (leaver, 3), "dark": (dark, 2), "restarted": (restarted, 3),
         "one_host": (one_host, 1), "two_a_host": (two_a_host, 2)}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: nccl_ranks.py CASE; cases: {', '.join(CASES)}")
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl", "mrc-nccl-rank")
    case, hosts = CASES[sys.argv[1]]
    with lab("nccl", "--planes", str(PLANES), "--hosts", str(hosts)) as fabric:
        case(fabric)
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
