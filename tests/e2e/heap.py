#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""libmrc-heap.so, preloaded: what a program registers of its own memory is shared with mrcd, and every byte arrives;
and Python, whose large objects then stand in it, computes, forks and starts programs as without."""

import contextlib
import os
import subprocess
import sys

from lab_support import check, lab, need_binaries, need_root, skip
from mrcctl import operator
from transfer_support import HEAP_LIBRARY, preloaded, transfer

# Objects that grow, shrink, are copied and freed by several threads; one that a child sees as it was at the fork, and
# writes for itself alone; a program that is started meanwhile.
PROGRAM = """
import concurrent.futures, os, subprocess, sys

def churn(seed):
    block = bytearray()
    for step in range(40):
        block += bytes([seed]) * (step * 7919)
        assert block.count(seed) == len(block)
        del block[len(block) // 2:]
        assert not any(bytearray(100_000 + step))
    return True

with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert all(pool.map(churn, range(1, 9)))

mine = bytearray(b"before" * 1_000_000)
waits, goes_on = os.pipe()
child = os.fork()
if child == 0:
    os.close(goes_on)
    os.read(waits, 1)
    as_it_was = bytes(mine[:6]) == bytes(mine[-6:]) == b"before" and len(mine) == 6_000_000
    mine[:6] = b"child!"
    bytearray(1_000_000)
    os._exit(0 if as_it_was else 1)
mine[:6] = mine[-6:] = b"parent"
os.close(goes_on)
assert os.waitpid(child, 0)[1] == 0, "a child has what was there at the fork"
assert bytes(mine[:6]) == bytes(mine[-6:]) == b"parent", "and writes for itself"
assert subprocess.run([sys.executable, "-c", "print(len(bytearray(1_000_000)))"], stdout=subprocess.PIPE,
                      check=True).stdout == b"1000000\\n"
maps = open("/proc/self/maps", encoding="ascii").read()
print("memfd:mrc-memory" in maps)
"""


def check_python():
    for count, wanted in ((0, "False"), (1, "True")):
        with preloaded() if count else contextlib.nullcontext():
            done = subprocess.run([sys.executable, "-c", PROGRAM], text=True, capture_output=True, check=False)
        check(done.returncode == 0 and done.stdout == f"{wanted}\n" and not done.stderr,
              f"Python {'with' if count else 'without'} the library does all of it: {done.stdout}{done.stderr}")


def shared_and_registered(fabric, memory):
    """Bytes of either end's memory, while they send to each other."""
    here, there = operator(fabric, "h0"), operator(fabric, "h1")
    seen = []

    def look(sample, _process):
        if not seen and sample["bytes"]:
            seen.extend(client for end in (here, there) for client in end.json("client", "list"))

    client, far, status = transfer(fabric, "-s", "1M", "-n", "300", "--bidir", "--verify", "--memory", memory,
                                   on_sample=look)
    check(client.status == 0 and status == 0 and client.report["verified"] is True and far["verified"] is True,
          f"every byte of {memory} memory is right {client.complaints}")
    check(len(seen) == 2, "both ends are clients meanwhile")
    return [(client["shared_bytes"], client["registered_bytes"]) for client in seen]


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrcctl")
    if not os.path.exists(HEAP_LIBRARY):
        skip("libmrc-heap.so is not built")
    check_python()
    with lab("heap", "--planes", "2") as fabric:
        check(all(shared == 0 < registered for shared, registered in shared_and_registered(fabric, "process")),
              "which is the program's own")
        with preloaded():
            found = shared_and_registered(fabric, "process")
        check(all(shared == registered > 0 for shared, registered in found), f"all of it is shared: {found}")


if __name__ == "__main__":
    main()
