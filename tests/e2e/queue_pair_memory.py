#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What queue pairs cost mrcd in memory of its own: 10,000 that are connected and next to idle, and 100 busy ones."""

import contextlib
import pathlib
import re
import sys
import time

from lab_support import check, lab, need_binaries, need_root
from mrcctl import operator
from transfer_support import DEADLINE_S, lines_of, start_perf, wait_until

CLIENTS, OF_EACH, BUSY = 4, 2500, 100
BUSY_PACKETS = 100_000  # that they have sent together when their memory is looked at
BYTES_OF_ONE = 4096  # that is connected and idle
BYTES_OF_ALL = 100_000_000
LIMITS = "[limits]\nqueue_pairs = 16384\n"


def own_memory(pid):
    """Anonymous memory of a process that is in RAM, bytes: neither files nor what clients share with it."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"^RssAnon:\s+(\d+) kB$", status, re.MULTILINE)[1]) << 10


@contextlib.contextmanager
def connected(fabric, port, *arguments):
    """Queue pairs of h0 to h1, by a server and a client of their own."""
    server = start_perf(fabric, "h1", "--json", "--once", "--port", str(port))
    client = None
    try:
        if not (lines_of(server.stdout).next(time.monotonic() + DEADLINE_S) or "").startswith("LISTENING "):
            sys.exit(f"FAIL: the server did not start: {server.stderr.read().decode()}")
        client = start_perf(fabric, "h0", fabric.host("h1")["mrc_address"], "--json", "--port", str(port), "-D", "600",
                            *arguments)
        yield client
    finally:
        for process in filter(None, (client, server)):
            process.kill()
            process.wait()


def main():
    need_root()
    need_binaries("mrcd", "mrc-perf", "mrc-switch", "mrcctl")
    with lab("qpmem", "--planes", "2", config=LIMITS) as fabric, contextlib.ExitStack() as stack:
        daemons = {name: fabric.host(name)["pid"] for name in ("h0", "h1")}
        see = operator(fabric, "h0")

        def grown():
            return {name: own_memory(pid) - before[name] for name, pid in daemons.items()}

        def queue_pairs():
            return len(see.json("qp", "list"))

        before = {name: own_memory(pid) for name, pid in daemons.items()}
        for number in range(CLIENTS):
            stack.enter_context(connected(fabric, 20000 + number, "-q", str(OF_EACH), "-s", "8", "--window", "1",
                                          "--rate", "1"))
        check(wait_until(lambda: queue_pairs() == CLIENTS * OF_EACH, DEADLINE_S), f"{queue_pairs()} are connected")
        idle = grown()
        for name, bytes_of_idle in idle.items():
            each = bytes_of_idle // (CLIENTS * OF_EACH)
            check(each <= BYTES_OF_ONE, f"{each} bytes of the mrcd of {name} for each")
        stack.enter_context(connected(fabric, 20000 + CLIENTS, "-q", str(BUSY), "-s", "64K"))
        check(wait_until(lambda: queue_pairs() == CLIENTS * OF_EACH + BUSY and see.sum("tx_packets") > BUSY_PACKETS,
                         DEADLINE_S), f"{BUSY} more are busy")
        for name, bytes_of_all in grown().items():
            check(bytes_of_all <= BYTES_OF_ALL, f"{bytes_of_all / 1e6:.1f} MB of the mrcd of {name} for all of them")


if __name__ == "__main__":
    main()
