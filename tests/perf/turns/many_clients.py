# SPDX-License-Identifier: Apache-2.0
"""Queue pairs that several clients of mrc-perf's share, and what all of them together move while each of them does:
they do not begin at one time, so their own means are of different times."""

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import time

from lab_support import binary
from transfer_support import DEADLINE_S, lines_of, start_perf

from .programs import far_end

MOST_QPS = 4096  # of one client
FIRST_PORT = 18700
NO_PROGRESS_MS = "3600000"  # nothing but that a run begins
INTERRUPTED = 130  # exit status


def shares(count):
    """Queue pairs of each client, as few clients as have them all."""
    clients = -(-count // MOST_QPS)
    return [count // clients + (number < count % clients) for number in range(clients)]


def watched(fabric, host, seconds):
    """What mrcctl sees of a host for so long: `planes`, `workers`, `qps`."""
    done = subprocess.run([binary("mrcctl"), "--json", "--instance", fabric.host(host)["instance"], "top", "--once",
                           "--interval", str(seconds)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"FAIL: mrcctl top: {done.stderr}")
    return json.loads(done.stdout)


def await_begin(process, deadline):
    """Until a client's queue pairs are connected and its messages leave."""
    said, complaints = lines_of(process.stderr), []
    while (line := said.next(deadline)) is not None:
        if line.startswith("{"):
            return
        complaints.append(line)
    sys.exit(f"FAIL: mrc-perf: {' '.join(complaints)}")


def interrupt(running):
    """The reports of clients that have gone on until now, and end together."""
    for process, _ in running:
        if process.poll() is not None:
            sys.exit(f"FAIL: mrc-perf ended early: {process.stderr.read().decode()}")
    for process, _ in running:
        process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + DEADLINE_S * len(running)
    for process, out in running:
        if process.wait(max(0, deadline - time.monotonic())) != INTERRUPTED:
            sys.exit(f"FAIL: mrc-perf ended with status {process.returncode}: {process.stderr.read().decode()}")
        out.seek(0)
    return [json.loads(out.read()) for _, out in running]


def queue_pairs_of_all(count, *arguments):
    """A run of so many queue pairs from h0 to h1, with these arguments of mrc-perf's."""
    def run(at, seconds):
        running = []
        with contextlib.ExitStack() as ends:
            try:
                for number, qps in enumerate(shares(count)):
                    port = str(FIRST_PORT + number)
                    ends.enter_context(far_end(at.fabric, port))
                    out = ends.enter_context(tempfile.TemporaryFile())
                    running.append((start_perf(
                        at.fabric, "h0", at.fabric.host("h1")["mrc_address"], "--port", port, "--json", "-q", str(qps),
                        "-D", str(round(seconds + 10 * DEADLINE_S)), "--interval", NO_PROGRESS_MS, *arguments,
                        stdout=out), out))
                deadline = time.monotonic() + DEADLINE_S * len(running)
                for process, _ in running:
                    await_begin(process, deadline)
                seen = watched(at.fabric, "h1", seconds)
                reports = interrupt(running)
            finally:
                for process, _ in running:
                    process.kill()
                    process.wait()
        return {"gbps": sum(qp["rx_bits_per_s"] for qp in seen["qps"]) / 1e9, "memory": reports[0]["memory"],
                "clients": len(running), "queue_pairs": len(seen["qps"])}
    return run
