# SPDX-License-Identifier: Apache-2.0
"""One rank of a test with PyTorch, whose collectives are verified: torch_rank.py STORE ROUNDS [TIMEOUT_S]. With a
time-out it goes on until a collective fails, and prints the failure."""

import datetime
import os
import sys
import threading
import time

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


def from_any():
    if RANK != 0:
        dist.send(torch.full((5000,), float(RANK)), 0, tag=3)
        return
    seen = set()
    for _ in range(RANKS - 1):
        tensor = torch.zeros(5000)
        sender = dist.recv(tensor, tag=3)
        expect(torch.equal(tensor, torch.full((5000,), float(sender))), "a receive from any rank")
        seen.add(sender)
    expect(len(seen) == RANKS - 1, "from each rank once")


def groups_in_threads():
    groups = [dist.new_group() for _ in range(3)]
    threads = [threading.Thread(target=lambda group=group: [all_reduce(20000, i, group) for i in range(20)])
               for group in groups]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def until_failure():
    started = time.monotonic()
    try:
        while True:
            started = time.monotonic()
            all_reduce(100000, 1)
            print("running", flush=True)
    except RuntimeError as failure:
        print(f"after {(time.monotonic() - started) * 1e3:.0f} ms: {str(failure).splitlines()[0]}", flush=True)
        os._exit(0)


def main():
    limit = datetime.timedelta(seconds=int(sys.argv[3]) if len(sys.argv) > 3 else 60)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=RANK, world_size=RANKS, timeout=limit)
    if len(sys.argv) > 3:
        until_failure()
    from_any()
    groups_in_threads()
    for number in range(int(sys.argv[2])):
        collectives(number)
        print(f"round {number}", flush=True)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        expect("libmrc-gloo.so" in maps.read(), "the transport is loaded")
    dist.destroy_process_group()
    print("done", flush=True)


if __name__ == "__main__":
    main()
