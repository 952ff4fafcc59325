#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks of Gloo and of NCCL's plug-in that have the daemon inside (MRC_EMBEDDED), one on each of two hosts without
mrcd: all collectives while a plane is cut, every number right. One case a run."""

import contextlib
import sys
import tempfile

from gloo_ranks import CUT_ROUND, RESTORE_ROUND, ROUNDS, gloo_rank, gloo_ranks
from lab_embedded import embedding_lab
from lab_support import check, lab, left_behind, need_binaries, need_root
from nccl_ranks import CUT_PLANE, PLANES, nccl_ranks

NCCL_ROUNDS, NCCL_CUT_ROUND, NCCL_RESTORE_ROUND = 5, 1, 3  # as without


def inside(fabric, command):
    """The same command, with the daemon of its host in it."""
    def changed(rank, *rest):
        argv, env = command(rank, *rest)
        return argv, {**env, **fabric.environment(f"h{rank}")}
    return changed


class embedding_ranks(nccl_ranks):
    """NCCL's ranks, each with its daemon inside."""

    @staticmethod
    def environment(fabric, rank):
        return fabric.environment(f"h{rank}")


@contextlib.contextmanager
def ended(started):
    try:
        yield started
    finally:
        started.end()


def with_a_plane_cut(fabric, all_ranks, rounds):
    cut, restored, last = rounds
    all_ranks.wait_for(0, f"round {cut}\n")
    fabric.run("plane", str(CUT_PLANE), "down")
    check(f"round {last}\n" not in all_ranks.said(0), f"plane {CUT_PLANE} is cut in the middle")
    all_ranks.wait_for(0, f"round {restored}\n")
    fabric.run("plane", str(CUT_PLANE), "up")
    all_ranks.all_succeed()
    check(all(f"round {last}\n" in all_ranks.said(rank) for rank in range(2)), "all rounds, every number right")


def gloo(fabric, folder):
    command = inside(fabric, gloo_rank("collectives", ROUNDS))
    with ended(gloo_ranks(fabric, 2, folder, command)) as both:
        with_a_plane_cut(fabric, both, (CUT_ROUND, RESTORE_ROUND, ROUNDS - 1))


def nccl(fabric, folder):
    with ended(embedding_ranks(fabric, folder, ["collectives"] * 2, NCCL_ROUNDS)) as both:
        with_a_plane_cut(fabric, both, (NCCL_CUT_ROUND, NCCL_RESTORE_ROUND, NCCL_ROUNDS - 1))


CASES = {"gloo": (gloo, "mrc-gloo-rank"), "nccl": (nccl, "mrc-nccl-rank")}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: embedded_ranks.py CASE; cases: {', '.join(CASES)}")
    case, program = CASES[sys.argv[1]]
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl", program)
    with lab("embranks", "--planes", str(PLANES), "--hosts", "2") as fabric, tempfile.TemporaryDirectory() as folder:
        case(embedding_lab(fabric), folder)
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
