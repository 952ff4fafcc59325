# SPDX-License-Identifier: Apache-2.0
"""PyTorch's collectives, every number verified. torch_rank.py imports it from beside itself, as users' scripts do."""

import os
import sys

import torch
import torch.distributed as dist

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def expect(condition, what):
    if not condition:
        sys.exit(f"FAIL: rank {RANK}: {what}")


def own(count, number):
    return torch.arange(count, dtype=torch.float64) + 1000 * RANK + number


def total(count, number):
    return RANKS * (torch.arange(count, dtype=torch.float64) + number) + 1000 * RANKS * (RANKS - 1) / 2


def all_reduce(count, number, group=None):
    tensor = own(count, number)
    dist.all_reduce(tensor, group=group)
    expect(torch.equal(tensor, total(count, number)), f"all-reduce of {count}")


def collectives(number):
    for count in (1, 1000, 300000):
        all_reduce(count, number)
        gathered = [torch.empty(count, dtype=torch.float64) for _ in range(RANKS)]
        dist.all_gather(gathered, own(count, number))
        expect(all(torch.equal(part, own(count, number) - 1000 * (RANK - rank)) for rank, part in enumerate(gathered)),
               f"all-gather of {count}")
        everything, parts = own(count * RANKS, number), torch.empty(count * RANKS, dtype=torch.float64)
        dist.all_to_all_single(parts, everything)
        expect(all(torch.equal(parts[rank * count:(rank + 1) * count],
                               everything[RANK * count:(RANK + 1) * count] + 1000 * (rank - RANK))
                   for rank in range(RANKS)), f"all-to-all of {count}")
        root = number % RANKS
        shared = own(count, number)
        dist.broadcast(shared, root)
        expect(torch.equal(shared, own(count, number) + 1000 * (root - RANK)), f"broadcast of {count}")
    dist.barrier()
