# SPDX-License-Identifier: Apache-2.0
"""One rank of the training, as any PyTorch user would write it: nothing here knows of MRC.

usage: rank.py STORE DIGITS STEPS; RANK and WORLD_SIZE are in the environment. Each step is a JSON line on standard
output: step, monotonic_ns at its end, loss; the last has the weights' SHA-256 instead.
"""

import gzip
import hashlib
import json
import os
import sys
import time

import numpy
import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

HIDDEN = 256
BATCH = 64  # of each rank
EPOCH_SEED = 7


def digits(path):
    """1797 images of 8 by 8, 0 to 16, with the digit that each shows."""
    with gzip.open(path, "rt") as file:
        table = numpy.loadtxt(file, delimiter=",", dtype=numpy.float32)
    return torch.from_numpy(table[:, :-1] / 16), torch.from_numpy(table[:, -1].astype(numpy.int64))


def batches(count, rank, ranks):
    """This rank's samples of every step, epoch after epoch."""
    epoch = 0
    while True:
        order = torch.randperm(count, generator=torch.Generator().manual_seed(EPOCH_SEED + epoch))
        for first in range(0, count - ranks * BATCH + 1, ranks * BATCH):
            yield order[first + rank * BATCH:first + (rank + 1) * BATCH]
        epoch += 1


def say(**what):
    print(json.dumps(what), flush=True)


def main():
    store, path, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.manual_seed(1)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    images, shown = digits(path)
    network = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(64, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.ReLU(),
        torch.nn.Linear(HIDDEN, 10)))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.5)
    for step, batch in zip(range(steps), batches(len(images), rank, ranks)):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(images[batch]), shown[batch])
        loss.backward()
        optimizer.step()
        say(step=step, monotonic_ns=time.monotonic_ns(), loss=loss.item())
    weights = hashlib.sha256()
    for parameter in network.parameters():
        weights.update(parameter.detach().numpy().tobytes())
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    say(weights=weights.hexdigest())


if __name__ == "__main__":
    main()
