# SPDX-License-Identifier: Apache-2.0
"""A training job on the hosts of a lab, while a plane dies and comes back."""

import json
import os
import pathlib
import queue
import subprocess
import tempfile
import threading
import time

from lab.stage import BIN, say, stage_failure

RANK = pathlib.Path(__file__).resolve().parent / "rank.py"
CUT_AT, BACK_AT = 0.4, 0.8  # of the steps
SILENCE_S = 120  # no step for this long: something hangs
PROGRESS_S = 5


def environment(transport, rank, ranks):
    """What chooses the transport, and nothing else."""
    common = {"RANK": str(rank), "WORLD_SIZE": str(ranks), "OMP_NUM_THREADS": "1"}
    if transport == "TCP":
        return {**common, "GLOO_SOCKET_IFNAME": "mrcnet0"}
    return {**common, "GLOO_DEVICE_TRANSPORT": "MRC", "LD_PRELOAD": str(BIN.parent / "lib/libmrc-gloo.so")}


class rank_output:
    """The lines of all ranks' standard outputs, as they come."""

    def __init__(self, processes):
        self.lines = queue.SimpleQueue()
        for rank, process in enumerate(processes):
            threading.Thread(target=self._read, args=(rank, process.stdout), daemon=True).start()

    def _read(self, rank, stream):
        for line in stream:
            self.lines.put((rank, line))
        self.lines.put((rank, None))

    def next(self, seconds):
        """A rank with its line, None at its end; nothing when the time is over."""
        try:
            return self.lines.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None


class plane_outage:
    """Cuts a plane at CUT_AT, restores it some seconds later, or at BACK_AT where the training is faster. Times are of
    the monotonic clock."""

    def __init__(self, lab, plane, steps, seconds):
        self.lab, self.plane, self.seconds = lab, plane, seconds
        self.cut_at, self.back_at = int(CUT_AT * steps), int(BACK_AT * steps)
        self.cut_ns = self.restored_ns = None

    def on_step(self, step):
        if self.cut_ns is None and step >= self.cut_at:
            self.lab.run("plane", str(self.plane), "down")
            self.cut_ns = time.monotonic_ns()
        if step >= self.back_at:
            self._restore()

    def _restore(self):
        if self.restored_ns is None:
            self.lab.run("plane", str(self.plane), "up")
            self.restored_ns = time.monotonic_ns()

    def left_s(self):
        """Until something is due; None: nothing."""
        if self.cut_ns is None or self.restored_ns is not None:
            return None
        return self.seconds - (time.monotonic_ns() - self.cut_ns) / 1e9

    def on_time(self):
        left = self.left_s()
        if left is not None and left <= 0:
            self._restore()


def _start(lab, transport, ranks, store, arguments, log):
    processes = []
    for rank in range(ranks):
        chosen = [f"{name}={value}" for name, value in environment(transport, rank, ranks).items()]
        processes.append(lab.start(f"h{rank}", "env", *chosen, "/usr/bin/python3", str(RANK), store, *arguments,
                                   stdout=subprocess.PIPE, stderr=log))
    return processes


def _follow(output, ranks, outage, what, steps_wanted):
    """Steps of rank 0, and every rank's digest of its weights."""
    steps, weights, ended = [], {}, 0
    heard = shown = time.monotonic()
    while ended < ranks:
        left = outage.left_s() if outage else None
        got = output.next(min(1.0, left) if left is not None else 1.0)
        if outage:
            outage.on_time()
        now = time.monotonic()
        if got is None:
            if now - heard > SILENCE_S:
                raise stage_failure(f"{what}: no step for {SILENCE_S} s")
            continue
        heard = now
        rank, line = got
        if line is None:
            ended += 1
            continue
        said = json.loads(line)
        if "weights" in said:
            weights[rank] = said["weights"]
        elif rank == 0:
            steps.append(said)
            if outage:
                outage.on_step(said["step"])
            if now - shown >= PROGRESS_S:
                shown = now
                say(f"  step {said['step'] + 1} of {steps_wanted}, loss {said['loss']:.4f}")
    return steps, weights


def train(lab, name, transport, options, digits, plane=None):
    """Runs the job; a plane that is given dies meanwhile. Returns what it did, times in ms after the first step."""
    outage = None if plane is None else plane_outage(lab, plane, options.steps, options.outage)
    with tempfile.TemporaryDirectory(prefix="mrc-train-") as folder, tempfile.TemporaryFile("w+") as log:
        processes = _start(lab, transport, options.hosts, os.path.join(folder, "store"),
                           [str(digits), str(options.steps)], log)
        steps, weights = _follow(rank_output(processes), options.hosts, outage, name, options.steps)
        statuses = [process.wait() for process in processes]
        if any(statuses) or len(weights) != options.hosts:
            log.seek(0)
            raise stage_failure(f"{name}: ranks ended with {statuses}:\n" + log.read()[-2000:])
    if len(set(weights.values())) != 1:
        raise stage_failure(f"{name}: the ranks disagree: {weights}")
    first_ns = steps[0]["monotonic_ns"]

    def at_ms(moment_ns):
        return (moment_ns - first_ns) / 1e6
    return {"name": name, "transport": transport, "weights": weights[0],
            "cut_ms": at_ms(outage.cut_ns) if outage else None,
            "restored_ms": at_ms(outage.restored_ns) if outage else None,
            "steps": [{"t_ms": at_ms(step["monotonic_ns"]), "loss": step["loss"]} for step in steps]}
