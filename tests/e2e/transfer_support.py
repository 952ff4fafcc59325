# SPDX-License-Identifier: Apache-2.0
"""mrc-perf between two hosts of a lab: server, client, its progress, and the reports of both."""

import contextlib
import itertools
import json
import os
import pathlib
import queue
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time

from lab_support import TIME_SCALE, binary, check

from lab.wait_until import wait_until  # noqa: F401

DEADLINE_S = 60 * TIME_SCALE
INTERVAL_MS = 50 * TIME_SCALE
# Half a Gbit/s: enough to show where packets go, and leaves the processor to what happens meanwhile.
STEADY = ("-s", "64K", "--rate", "1000")


class lines_of:
    """Lines of a process's stream as they come, each within a deadline."""

    def __init__(self, stream):
        os.set_blocking(stream.fileno(), False)
        self.stream, self.buffer = stream, b""
        self.selector = selectors.DefaultSelector()
        self.selector.register(stream, selectors.EVENT_READ)

    def next(self, deadline):
        """The next line, or None at the end."""
        while b"\n" not in self.buffer:
            if not self.selector.select(max(0, deadline - time.monotonic())):
                sys.exit("FAIL: no line within the deadline")
            chunk = os.read(self.stream.fileno(), 65536)
            if not chunk:
                return None
            self.buffer += chunk
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line.decode()


def start_perf(fabric, host, *arguments, stdout=subprocess.PIPE, under=()):
    """mrc-perf in a host; nsenter replaces itself, so the process is mrc-perf, or what it is started by."""
    return subprocess.Popen(fabric.enter(host, *under, binary("mrc-perf"), *arguments), stdin=subprocess.DEVNULL,
                            stdout=stdout, stderr=subprocess.PIPE,
                            env={**os.environ, **fabric.environment(host)})


HEAP_LIBRARY = os.path.realpath(binary("../lib/libmrc-heap.so"))


@contextlib.contextmanager
def preloaded(library=HEAP_LIBRARY):
    """Programs that are started meanwhile have it in front of their own."""
    os.environ["LD_PRELOAD"] = library
    try:
        yield
    finally:
        del os.environ["LD_PRELOAD"]


@contextlib.contextmanager
def server(fabric, *arguments):
    """A server on h1 and the reader of its standard output, once it listens."""
    process = start_perf(fabric, "h1", "--json", *arguments)
    try:
        said = lines_of(process.stdout)
        first = said.next(time.monotonic() + DEADLINE_S)
        if first is None or not first.startswith("LISTENING "):
            sys.exit(f"FAIL: the server did not start: {process.stderr.read().decode()}")
        yield process, said
    finally:
        process.kill()
        process.wait()


class result:
    """What a client said: its report, its other lines on standard error, its exit status, how long it took."""

    def __init__(self, report, complaints, status, seconds):
        self.report, self.complaints, self.status, self.seconds = report, complaints, status, seconds


def follow(process, on_sample, deadline):
    """Reads a client's standard error to its end; returns what was no progress. on_sample sees the latest sample:
    those that come while it works are left out. Nothing holds mrc-perf up, as a full pipe would."""
    lines, complaints = queue.SimpleQueue(), []

    def drain():
        for line in itertools.chain(process.stderr, [b""]):
            lines.put(line)

    threading.Thread(target=drain, daemon=True).start()
    while True:
        arrived = [within(deadline, lines)]
        while not lines.empty():
            arrived.append(lines.get())
        complaints += [line.decode().rstrip("\n") for line in arrived if line and not line.startswith(b"{")]
        events = [json.loads(line) for line in arrived if line.startswith(b"{")] if on_sample else []
        samples = [event for event in events if event["event"] == "interval"]
        if samples:
            on_sample(samples[-1], process)
        if arrived[-1] == b"":
            return complaints


def within(deadline, lines):
    try:
        return lines.get(timeout=max(0, deadline - time.monotonic()))
    except queue.Empty:
        sys.exit("FAIL: no line within the deadline")


def run_client(fabric, *arguments, on_sample=None, limit_s=DEADLINE_S, to="mrc_address", address=None, host="h0",
               under=()):
    """A client on a host to its end, to this address of h1, or to an address, `under` a program that starts it.
    on_sample(sample, process) sees the progress as it comes; without it there is none, for which each queue pair would
    be asked."""
    started = time.monotonic()
    deadline = started + limit_s
    address = address or fabric.host("h1")[to]
    with tempfile.TemporaryFile() as out:  # the report is longer than a pipe holds
        progress = ("--interval", str(INTERVAL_MS)) if on_sample else ()
        process = start_perf(fabric, host, address, "--json", *progress, *arguments, stdout=out,
                             under=under)
        try:
            complaints = follow(process, on_sample, deadline)
            process.wait(max(1, deadline - time.monotonic()))
        finally:
            process.kill()
            process.wait()
        out.seek(0)
        said = out.read()
    return result(json.loads(said) if said else None, complaints, process.returncode, time.monotonic() - started)


def transfer(fabric, *arguments, on_sample=None, output=None, to="mrc_address", far=None, host="h0"):
    """One client against one server, on the h1 of another lab if `far` is one; returns the client's result and the
    server's report and exit status. With h1 as the client's host the host is its own peer."""
    with server(far or fabric, "--once", *(("--output", output) if output else ())) as (process, said):
        client = run_client(fabric, *arguments, on_sample=on_sample, host=host,
                            address=(far or fabric).host("h1")[to])
        line = said.next(time.monotonic() + DEADLINE_S)
        return client, json.loads(line) if line else None, process.wait(DEADLINE_S)


def cut_and_watch(fabric, plane, is_left, goes_on_bytes, cut):
    """For on_sample: takes the plane away once bytes flow, waits until it is left, and ends the client when so many
    more have arrived. `cut` says what came of it: "left", and "stopped" at the end."""
    def watch(sample, process):
        if not cut and sample["bytes"] > 0:
            fabric.run("plane", str(plane), "down")
            cut["left"] = wait_until(is_left, DEADLINE_S)
        elif cut and "bytes" not in cut:
            cut["bytes"] = sample["bytes"]
        elif cut and "stopped" not in cut and sample["bytes"] >= cut["bytes"] + goes_on_bytes:
            cut["stopped"] = True
            process.send_signal(signal.SIGINT)
    return watch


def random_file(directory, megabytes):
    path = pathlib.Path(directory) / "bytes"
    path.write_bytes(os.urandom(megabytes << 20))
    return path


@contextlib.contextmanager
def stopped(pid):
    """The process does not run until the block ends."""
    os.kill(pid, signal.SIGSTOP)
    try:
        # Not before it has had the CPU for it.
        check(wait_until(lambda: ") T " in pathlib.Path(f"/proc/{pid}/stat").read_text("utf-8"), DEADLINE_S),
              f"process {pid} is stopped")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
