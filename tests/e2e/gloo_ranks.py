#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Gloo over libmrc-gloo, processes on the hosts of a lab, one case of the table a run: messages, what does not
complete, collectives while a plane is cut, a rank that is killed, an mrcd that is; cuts and killed ranks with PyTorch,
too, which is told of the transport in each of the ways there are. Every byte is checked by the ranks themselves
(tests/gloo)."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from lab_support import ROOT, binary, check, lab, left_behind, need_binaries, need_root, skip
from rank_processes import LIMIT_S, ranks

PLANES, CUT_PLANE = 2, 1
ROUNDS = 12
CUT_ROUND, RESTORE_ROUND = 3, 7
TIMEOUT_S = 4

LIBRARY = os.path.join(os.path.dirname(binary("")), "../lib/libmrc-gloo.so")
MODULES = os.path.join(ROOT, "agent/gloo_adapter/python")
TORCH_RANK = os.path.join(ROOT, "tests/gloo/torch_rank.py")
PYTHON = "/usr/bin/python3"  # Debian's, which has its PyTorch


def gloo_rank(test, count=0):
    """The command of a rank: mrc-gloo-rank."""
    def command(rank, size, folder):
        store = os.path.join(folder, "store")
        os.makedirs(store, exist_ok=True)
        return [binary("mrc-gloo-rank"), test, str(rank), str(size), store, str(count)], {}
    return command


def torch_rank(*arguments):
    """The command of a rank with PyTorch, by one of the ways to choose the transport."""
    def command(rank, size, folder):
        script = [TORCH_RANK, os.path.join(folder, "file"), *arguments]
        chosen = {"GLOO_DEVICE_TRANSPORT": "MRC", "MRC_GLOO_LIBRARY": LIBRARY, "PYTHONPATH": MODULES}
        as_installed = ("import os, runpy, site, sys; "
                        f"site.addsitedir({MODULES!r}); "
                        "del sys.argv[0]; "
                        "sys.path[0] = os.path.dirname(sys.argv[0]); "
                        "runpy.run_path(sys.argv[0], run_name='__main__')")
        argv, env = (
            ([PYTHON, "-c", as_installed, *script], chosen),
            ([PYTHON, "-m", "mrc_gloo", *script], {**chosen, "GLOO_DEVICE_TRANSPORT": "TCP"}),
            ([PYTHON, *script], {"GLOO_DEVICE_TRANSPORT": "MRC", "LD_PRELOAD": LIBRARY}))[rank % 3]
        return argv, {**env, "RANK": str(rank), "WORLD_SIZE": str(size), "OMP_NUM_THREADS": "1",
                      "PYTHONDONTWRITEBYTECODE": "1"}
    return command


class gloo_ranks(ranks):
    def __init__(self, fabric, size, folder, command):
        super().__init__(fabric, folder, [command(rank, size, folder) for rank in range(size)])

    def failure_of(self, rank):
        """What the rank said of its failure, after which it has ended in order."""
        self.processes[rank].wait(LIMIT_S)
        found = re.search(r"after \d+ ms: .*mrc: .*rank \d+.*", self.said(rank))
        check(found and self.processes[rank].returncode == 0,
              f"rank {rank} fails, and ends in order: {(self.said(rank).splitlines() or ['nothing'])[-1]}")
        return found[0]

    def cpu_s(self, rank):
        with open(f"/proc/{self.processes[rank].pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(fabric, size, command):
    with tempfile.TemporaryDirectory() as folder:
        started = gloo_ranks(fabric, size, folder, command)
        try:
            yield started
        finally:
            started.end()


def messages(fabric):
    with running(fabric, 4, gloo_rank("messages")) as all_ranks:
        all_ranks.all_succeed()
        check(all_ranks.said(3).endswith("third context\n"), "4 ranks: all sizes, slots, threads, from any, contexts")


def failures(fabric):
    with running(fabric, 2, gloo_rank("failures")) as all_ranks:
        all_ranks.all_succeed()
        check(all_ranks.said(0).endswith("all failures\n"), "what does not complete fails, and names the rank")


def with_a_plane_cut(fabric, size, command):
    with running(fabric, size, command) as all_ranks:
        all_ranks.wait_for(0, f"round {CUT_ROUND}\n")
        fabric.run("plane", str(CUT_PLANE), "down")
        check(f"round {ROUNDS - 1}\n" not in all_ranks.said(0), f"plane {CUT_PLANE} is cut in the middle")
        all_ranks.wait_for(0, f"round {RESTORE_ROUND}\n")
        fabric.run("plane", str(CUT_PLANE), "up")
        all_ranks.all_succeed()
        check(all(f"round {ROUNDS - 1}\n" in all_ranks.said(rank) for rank in range(size)),
              f"{size} ranks: {ROUNDS} rounds of all collectives, every number right")


def collectives(fabric):
    with_a_plane_cut(fabric, 4, gloo_rank("collectives", ROUNDS))


def torch(fabric):
    with_a_plane_cut(fabric, 3, torch_rank(str(ROUNDS)))


def one_is_killed(fabric, command):
    with running(fabric, 3, command) as all_ranks:
        for rank in range(3):
            all_ranks.wait_for(rank, "running\n")
        all_ranks.processes[1].kill()
        all_ranks.processes[1].wait()
        for rank in (0, 2):
            all_ranks.failure_of(rank)


def killed(fabric):
    one_is_killed(fabric, gloo_rank("survivor", TIMEOUT_S * 1000))


def torch_killed(fabric):
    one_is_killed(fabric, torch_rank("0", str(TIMEOUT_S)))


def orphan(fabric):
    """The rank whose mrcd is killed fails at once, the others at their time-out; until then it has nothing to do."""
    def command(rank, *rest):
        return gloo_rank("orphan" if rank == 1 else "survivor", TIMEOUT_S * 1000)(rank, *rest)
    with running(fabric, 3, command) as all_ranks:
        for rank in range(3):
            all_ranks.wait_for(rank, "running\n")
        os.kill(fabric.host("h1")["pid"], signal.SIGKILL)
        all_ranks.wait_for(1, "after ")
        failed_at, used_s = time.monotonic(), all_ranks.cpu_s(1)
        said = all_ranks.said(1).splitlines()[-1]
        check("mrcd of this host is gone" in said, f"the rank is told that its mrcd is gone: {said}")
        for rank in (0, 2):
            all_ranks.failure_of(rank)
        wall_s, used_s = time.monotonic() - failed_at, all_ranks.cpu_s(1) - used_s
        check(used_s < 0.1 + wall_s / 4, f"and takes no processor for it: {used_s:.2f} s of {wall_s:.2f}")
        all_ranks.processes[1].stdin.close()
        all_ranks.failure_of(1)


def one_host(fabric):
    """All ranks are on one host, none of whose planes carries anything."""
    for plane in range(PLANES):
        fabric.run("plane", str(plane), "down")
    for test, size in (("messages", 4), ("failures", 2)):
        with running(fabric, size, gloo_rank(test)) as all_ranks:
            all_ranks.all_succeed()
            check(True, f"{size} ranks on one host: {test}")
    one_is_killed(fabric, gloo_rank("survivor", TIMEOUT_S * 1000))


def two_a_host(fabric):
    """Four ranks on two hosts, a plane between which is cut."""
    collectives(fabric)


# name: (the case, hosts)
CASES = {"messages": (messages, 4), "failures": (failures, 2), "collectives": (collectives, 4), "killed": (killed, 3),
         "orphan": (orphan, 3), "torch": (torch, 3), "torch_killed": (torch_killed, 3),
         "one_host": (one_host, 1), "two_a_host": (two_a_host, 2)}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: gloo_ranks.py CASE; cases: {', '.join(CASES)}")
    need_root()
    need_binaries("mrcd", "mrc-switch")
    if not os.access(binary("mrc-gloo-rank"), os.X_OK):
        skip("libmrc-gloo is not built: libgloo-dev is not installed")
    if sys.argv[1].startswith("torch") and subprocess.run([PYTHON, "-c", "import torch"], check=False,
                                                          capture_output=True).returncode != 0:
        skip("python3-torch is not installed")
    case, hosts = CASES[sys.argv[1]]
    with lab("gloo", "--planes", str(PLANES), "--hosts", str(hosts)) as fabric:
        case(fabric)
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
