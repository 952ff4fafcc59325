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

from torch_collectives import RANK, RANKS, all_reduce, collectives, expect


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
