#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A rank that adds up a megabyte of numbers with all others, round after round, and checks every one. Its first line is
its process; rank 0 says which round is done, and ends them when it finds a file of this name.

usage: rounds.py FILE"""

import array
import itertools
import os
import sys

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.Get_rank(), WORLD.Get_size()
PERIOD, COUNT = 4096, 131072


def say(what):
    sys.stdout.write(what + "\n")
    sys.stdout.flush()


def numbers(first):
    return array.array("q", range(first, first + PERIOD)) * (COUNT // PERIOD)


def main():
    say(f"rank {RANK} process {os.getpid()}")
    total = array.array("q", bytes(8 * COUNT))
    for number in itertools.count():
        WORLD.Allreduce(numbers(RANK + number), total, op=MPI.SUM)
        period = array.array("q", [SIZE * (number + i) + SIZE * (SIZE - 1) // 2 for i in range(PERIOD)])
        if total != period * (COUNT // PERIOD):
            say(f"FAIL: rank {RANK} has a wrong sum in round {number}")
            WORLD.Abort(1)
        if RANK == 0:
            say(f"round {number}")
        if WORLD.bcast(os.path.exists(sys.argv[1])):
            break
    WORLD.Barrier()
    say(f"rank {RANK} complete")


main()
