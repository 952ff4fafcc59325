#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Several workers: two clients of each host are on two of them, and transfer at once while a plane dies, in the middle
of the fabric and at the peer, and comes back; what workers find is shown and told once; counters are all workers'.

usage: workers.py xdp|af_xdp"""

import json
import signal
import sys
import time

from lab_support import DEADLINE_S, check, lab, need_binaries, need_root
from pinned_maps import ASSUMED_BAD, GOOD, host_maps
from transfer_support import STEADY, lines_of, start_perf, wait_until

WORKERS = 3
PLANES = 2
CUT_PLANE = 1
PORTS = ("18601", "18602")


class clients:
    """A server and a client on each of two ports, from when bytes flow until they are told to end."""

    def __init__(self, fabric):
        self.servers, self.running, self.fabric = [], [], fabric

    def __enter__(self):
        address = self.fabric.host("h1")["mrc_address"]
        for port in PORTS:
            process = start_perf(self.fabric, "h1", "--json", "--once", "--port", port)
            self.servers.append(process)
            line = lines_of(process.stdout).next(time.monotonic() + DEADLINE_S)
            check(line is not None and line.startswith("LISTENING "), f"a server listens on port {port}")
            self.running.append(start_perf(self.fabric, "h0", address, "--port", port, "--json", "--verify", *STEADY,
                                           "-D", "600"))
        return self

    def end(self):
        """The clients' reports."""
        for process in self.running:
            process.send_signal(signal.SIGINT)
        said = [process.communicate(timeout=DEADLINE_S) for process in self.running]
        reports = [json.loads(out) for out, _ in said]
        check(all(report["status"] == "interrupted" and report["verified"] for report in reports),
              f"both clients are told to end, and every byte was right {[err for _, err in said]}")
        return reports

    def __exit__(self, *_):
        for process in (*self.running, *self.servers):
            process.kill()
            process.wait()


def moving(maps):
    """Bytes that queue pairs have sent, by worker."""
    sent = {}
    for row in maps.queue_pairs().values():
        sent[row["worker"]] = sent.get(row["worker"], 0) + row["tx_bytes"]
    return sent


def goes_on(maps, what):
    """On every worker that has queue pairs."""
    before = moving(maps)
    check(wait_until(lambda: all(now > before[worker] for worker, now in moving(maps).items()), DEADLINE_S), what)


def transitions(fabric, name):
    return [line.removeprefix(name) for line in fabric.log_lines("h0", "info") if line.startswith(name)]


def one_after_the_other(said):
    """Out of use, in use again, and so on: none twice."""
    kinds = [line.partition(",")[0] for line in said]
    return kinds == ["out of use", "in use again"] * (len(kinds) // 2) and kinds


def cut(fabric, maps):
    paths = maps.paths_to(fabric.host("h1")["mrc_address"], CUT_PLANE)
    fabric.run("plane", str(CUT_PLANE), "down")
    check(wait_until(lambda: maps.states(paths) == {ASSUMED_BAD}, DEADLINE_S, 0.1),
          "a plane dies, and its paths are left")
    goes_on(maps, "both workers' queue pairs go on")
    fabric.run("plane", str(CUT_PLANE), "up")
    check(wait_until(lambda: maps.states(paths) == {GOOD}, DEADLINE_S, 0.1), "it lives again, and they are good to all")
    name = f"{fabric.plane_to(CUT_PLANE, 'h1')} ({len(paths)} paths): "
    check(wait_until(lambda: one_after_the_other(transitions(fabric, name)), DEADLINE_S),
          f"each change has one line: {transitions(fabric, name)}")


def lose_port(fabric, maps):
    """Of the peer, which tells the first worker; the others have queue pairs to it."""
    peer = fabric.host("h1")["mrc_address"]
    name = f"peer {peer}: its port on plane {CUT_PLANE} is "
    fabric.inside("h1", "ip", "link", "set", f"p{CUT_PLANE}", "down")
    check(wait_until(lambda: transitions(fabric, name) == ["out of use, it says"], DEADLINE_S),
          f"the peer says that its port is down: {transitions(fabric, name)}")
    goes_on(maps, "both workers' queue pairs go on")
    paths = maps.paths_to(peer, CUT_PLANE)
    # What was under way then has left, and what is asked of the path carries nothing of queue pairs: probes are short.
    before = {number: row["tx_bytes"] for number, row in maps.some_rows("paths", paths).items()}
    sent = moving(maps)
    check(wait_until(lambda: all(now > sent[worker] + (4 << 20) for worker, now in moving(maps).items()), DEADLINE_S),
          "and send megabytes")
    after = {number: row["tx_bytes"] for number, row in maps.some_rows("paths", paths).items()}
    grown = sum(after.values()) - sum(before.values())
    check(grown < 1 << 20, f"none of it where the peer has no port: {grown} bytes")
    fabric.inside("h1", "ip", "link", "set", f"p{CUT_PLANE}", "up")
    check(wait_until(lambda: transitions(fabric, name)[1:] == ["usable, it says"], DEADLINE_S), "and that it is back")


def main():
    need_root()
    need_binaries("mrcd", "mrcctl", "mrc-switch", "mrc-perf")
    if len(sys.argv) != 2 or sys.argv[1] not in ("xdp", "af_xdp"):
        sys.exit(__doc__.rpartition("\n")[2])
    with lab("workers", "--engine", sys.argv[1], "--planes", str(PLANES), "--spines", "2",
             config=f"[worker]\nworkers = {WORKERS}\n") as fabric:
        maps = host_maps(f"{fabric.prefix}-h0")
        check(f"{WORKERS} workers on " in fabric.log("h0"), "the log has the number of workers")
        with clients(fabric) as both:
            check(wait_until(lambda: len(moving(maps)) == 2, DEADLINE_S),
                  f"two clients are on two workers: {moving(maps)}")
            check(set(moving(maps)) == {1, 2}, "the first one, which has the host's business besides, comes last")
            goes_on(maps, "both send")
            cut(fabric, maps)
            lose_port(fabric, maps)
            goes_on(maps, "both send when all is well again")
            reports = both.end()
        check(all(report["messages"] > 0 for report in reports), "each has moved messages")
        arrived = host_maps(f"{fabric.prefix}-h1").verdicts()["MRC_AGENT_ACCEPTED"]
        data = sum(report["bytes"] for report in reports) // 4096
        check(wait_until(lambda: host_maps(f"{fabric.prefix}-h1").verdicts()["MRC_AGENT_ACCEPTED"] >= data, DEADLINE_S),
              f"verdicts are those of all workers: {arrived} accepted, {data} packets of data at least")


if __name__ == "__main__":
    main()
