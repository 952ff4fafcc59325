# SPDX-License-Identifier: Apache-2.0
"""The transfer itself: server, client, and a plane that dies and comes back as the transfer proceeds."""

import json
import queue
import signal
import subprocess
import threading
import time

from lab.stage import BIN, stage_failure, step

CUT_AT, RESTORE_AT = 0.4, 0.7  # of the bytes
INTERVAL_MS = 20
READY_DEADLINE_S = 15
SILENCE_DEADLINE_S = 30  # no line of progress for this long: something hangs
PERF = str(BIN / "mrc-perf")


class line_reader:
    """Lines of a stream, with a deadline."""

    def __init__(self, stream):
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream):
        for line in stream:
            self.lines.put(line)
        self.lines.put(None)

    def next(self, seconds, what):
        try:
            return self.lines.get(timeout=seconds)
        except queue.Empty:
            raise stage_failure(f"nothing from {what()} for {seconds} s") from None


class plane_cut:
    """Cuts a plane when enough bytes have arrived, and restores it later. Times are those of the transfer."""

    def __init__(self, lab, plane, client, total_bytes):
        self.lab, self.plane, self.client, self.total_bytes = lab, plane, client, total_bytes
        self.started_ns = None
        self.events = {}

    def _change(self, name, state):
        self.client.send_signal(signal.SIGUSR1)  # the stall clock starts a new phase
        begun = time.monotonic_ns()
        self.lab.run("plane", str(self.plane), state)
        self.events[f"{name}_ordered_ms"] = (begun - self.started_ns) / 1e6
        self.events[f"{name}_at_ms"] = (time.monotonic_ns() - self.started_ns) / 1e6  # the last switch has followed

    def follow(self, sample):
        if sample["bytes"] >= self.total_bytes:
            return
        if "cut_at_ms" not in self.events:
            if sample["bytes"] >= CUT_AT * self.total_bytes:
                self._change("cut", "down")
        elif "restored_at_ms" not in self.events and sample["bytes"] >= RESTORE_AT * self.total_bytes:
            self._change("restored", "up")


def start_server(lab, *arguments):
    server = lab.start("h1", PERF, "--json", *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = line_reader(server.stdout)
    line = said.next(READY_DEADLINE_S, lambda: "the server")
    if line is None or not line.startswith("LISTENING"):
        raise stage_failure(f"the server on h1 did not start: {server.stderr.read().strip()}")
    return said


def watch(client, cut):
    """Reads the client's progress to its end; returns what else it said on standard error."""
    progress = line_reader(client.stderr)
    other = []
    last = "its start"

    def where():
        return f"the transfer after {last}"

    while (line := progress.next(SILENCE_DEADLINE_S, where)) is not None:
        try:
            event = json.loads(line)
        except ValueError:
            other.append(line.rstrip())
            continue
        if event["event"] == "start":
            cut.started_ns = event["monotonic_ns"]
        else:
            last = f"{event['bytes']} bytes at {event['t_ms']:.0f} ms"
            cut.follow(event)
    return other


def transfer(lab, file, plane):
    with step(f"sending {file['bytes']} bytes from h0 to h1; plane {plane} dies at {CUT_AT:.0%} and is back at "
              f"{RESTORE_AT:.0%}"):
        server = start_server(lab, "--once")
        client = lab.start("h0", PERF, lab.address("h1"), "--file", file["path"], "--interval", str(INTERVAL_MS),
                           "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = line_reader(client.stdout)  # beside the progress: the report is longer than a pipe holds
        cut = plane_cut(lab, plane, client, file["bytes"])
        complaints = watch(client, cut)
        from_client = said.next(READY_DEADLINE_S, lambda: "the client at its end")
        client.wait()
    if not from_client:
        raise stage_failure("; ".join(complaints) or f"mrc-perf ended with status {client.returncode}")
    result = json.loads(from_client)
    if "cut_at_ms" not in cut.events and result["status"] == "ok":
        raise stage_failure("the transfer was over before the plane could be cut; give a larger --size")
    from_server = server.next(READY_DEADLINE_S, lambda: "the server at its end")
    result["server"] = json.loads(from_server) if from_server else None
    result["sha256_file"] = file["sha256"]
    result["cut_at_ms"] = None
    result.update(cut.events)
    result["stalls_us"] = [phase["max_stall_us"] for phase in result["phases"]]
    return result
