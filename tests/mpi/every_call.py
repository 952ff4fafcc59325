#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A rank that makes the calls of MPI that programs are made of, at sizes from nothing to megabytes, and prints the
SHA-256 of what each gave it: the same over any network."""

import array
import hashlib
import sys

import mpi4py

mpi4py.rc.thread_level = "serialized"  # Open MPI's RMA by messages (osc pt2pt) has no more
from mpi4py import MPI  # noqa: E402

WORLD = MPI.COMM_WORLD
ANY = WORLD.Dup()  # for messages that rank 0 takes as they come
RANK, SIZE = WORLD.Get_rank(), WORLD.Get_size()
COUNTS = (1, 700, 40000)  # doubles: by slots of a ring, and by WRITE
MESSAGES = (0, 1, 4096, 16384, 16385, 1 << 20, 5 << 20)  # bytes


def say(what, content):
    sys.stdout.write(f"rank {RANK} {what} {hashlib.sha256(content).hexdigest()}\n")
    sys.stdout.flush()


def numbers(count, seed):
    period = array.array("d", [((RANK + 1) * (seed + i) % 1009) / 7 for i in range(1009)])
    return (period * (count // 1009 + 1))[:count]


def zeros(count):
    return array.array("d", bytes(8 * count))


def collectives(count):
    some, of_all = zeros(count), zeros(count * SIZE)

    def result(name, content):
        say(f"{name} of {count}", content)

    shared = numbers(count, 1) if RANK == SIZE - 1 else some
    WORLD.Bcast(shared, root=SIZE - 1)
    result("Bcast", shared)
    for name, operation in (("sum", MPI.SUM), ("max", MPI.MAX)):
        WORLD.Allreduce(numbers(count, 2), some, op=operation)
        result(f"Allreduce {name}", some)
    WORLD.Reduce(numbers(count, 3), some, op=MPI.SUM, root=0)
    result("Reduce", some if RANK == 0 else b"")
    WORLD.Scatter(numbers(count * SIZE, 4), some, root=0)
    result("Scatter", some)
    WORLD.Gather(numbers(count, 5), of_all, root=SIZE - 1)
    result("Gather", of_all if RANK == SIZE - 1 else b"")
    WORLD.Allgather(numbers(count, 6), of_all)
    result("Allgather", of_all)
    WORLD.Alltoall(numbers(count * SIZE, 7), of_all)
    result("Alltoall", of_all)
    WORLD.Reduce_scatter_block(numbers(count * SIZE, 8), some, op=MPI.SUM)
    result("Reduce_scatter_block", some)
    WORLD.Scan(numbers(count, 9), some, op=MPI.SUM)
    result("Scan", some)
    sent = numbers(count, 10)  # which must stay until it is over: mpi4py 3.1 does not keep it
    WORLD.Iallreduce(sent, some, op=MPI.SUM).Wait()
    result("Iallreduce", some)
    WORLD.Barrier()


def messages(bytes_each):
    """A ring one way, then from all to rank 0, which takes them as they come."""
    sent = bytearray((RANK + i) % 251 for i in range(bytes_each))
    got = bytearray(bytes_each)
    WORLD.Sendrecv(sent, dest=(RANK + 1) % SIZE, recvbuf=got, source=(RANK - 1) % SIZE)
    say(f"Sendrecv of {bytes_each}", got)
    if RANK == 0:
        say(f"Recv from any of {bytes_each}", from_any())
    else:
        ANY.Ssend(sent, dest=0, tag=RANK)
    WORLD.Barrier()


def from_any():
    """One message of every other rank, by rank."""
    found = {}
    for _ in range(1, SIZE):
        status = MPI.Status()
        ANY.Probe(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        into = bytearray(status.Get_count(MPI.BYTE))
        ANY.Recv(into, source=status.Get_source(), tag=status.Get_tag())
        found[status.Get_tag()] = into
    return b"".join(found[rank] for rank in sorted(found))


def memory(count):
    """Every rank writes into the next one's window, reads it back, adds to it, and counts in rank 0's."""
    window_memory = numbers(count, 11)
    window = MPI.Win.Create(window_memory, disp_unit=8, comm=WORLD)
    after = (RANK + 1) % SIZE
    window.Fence()
    written, added = numbers(count, 12), numbers(count, 13)  # which must stay until the fence
    window.Put(written, after)
    window.Fence(MPI.MODE_NOSUCCEED)
    say(f"Put of {count}", window_memory)
    read = zeros(count)
    window.Lock(after, MPI.LOCK_SHARED)
    window.Get(read, after)
    window.Unlock(after)
    say(f"Get of {count}", read)
    WORLD.Barrier()
    window.Fence()
    window.Accumulate(added, after, op=MPI.SUM)
    window.Fence()
    say(f"Accumulate of {count}", window_memory)
    window.Free()


def counting():
    counter = array.array("q", [0])
    window = MPI.Win.Create(counter, disp_unit=8, comm=WORLD)
    before, one = array.array("q", [0]), array.array("q", [1])
    tickets = []
    for _ in range(5):
        window.Lock(0, MPI.LOCK_EXCLUSIVE)
        window.Fetch_and_op(one, before, 0, op=MPI.SUM)
        window.Unlock(0)
        tickets.append(before[0])
    everybodys = sorted(ticket for ones in WORLD.allgather(tickets) for ticket in ones)
    say("Fetch_and_op", str(everybodys).encode())
    window.Free()


def main():
    for count in COUNTS:
        collectives(count)
        memory(count)
    for bytes_each in MESSAGES:
        messages(bytes_each)
    counting()
    for distance in range(SIZE):  # 0: to itself
        got = WORLD.sendrecv({"from": RANK}, dest=(RANK + distance) % SIZE, source=(RANK - distance) % SIZE)
        say(f"sendrecv at distance {distance}", str(got).encode())


main()
