# SPDX-License-Identifier: Apache-2.0
"""What a demonstration stands on: the build, and a lab that is removed whatever happens."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from failure import demo_failure

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent
LAB = str(SCRIPTS / "mrc-lab")
BIN = pathlib.Path(os.environ.get("MRC_BIN") or SCRIPTS.parent / "build" / "bin")
TAIL_LINES = 25
END_DEADLINE_S = 10


@contextlib.contextmanager
def step(what):
    """Says on standard error what is done, and how long it took."""
    started = time.monotonic()
    print(f"scripts/demo: {what}", file=sys.stderr, flush=True)
    yield
    print(f"scripts/demo:   done in {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)


def build():
    with tempfile.TemporaryFile() as log:
        done = subprocess.run([SCRIPTS / "build"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
        if done.returncode != 0:
            log.seek(0)
            tail = log.read().decode(errors="replace").splitlines()[-TAIL_LINES:]
            raise demo_failure("scripts/build failed:\n" + "\n".join("  | " + line for line in tail))


class lab:
    """Two hosts, and the commands that change what is between them."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.processes = []

    def run(self, *arguments):
        done = subprocess.run([LAB, *arguments, "--prefix", self.prefix], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise demo_failure(f"mrc-lab {' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def address(self, host):
        hosts = json.loads(self.run("status", "--json"))["hosts"]
        return next(entry["mrc_address"] for entry in hosts if entry["name"] == host)

    def start(self, host, *argv, **streams):
        """A process in a host; `exec` replaces itself, so the process is the command."""
        process = subprocess.Popen([LAB, "exec", "--prefix", self.prefix, host, "--", *argv], text=True,
                                   stdin=subprocess.DEVNULL, **streams)
        self.processes.append(process)
        return process

    def end_processes(self):
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(END_DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def running_lab(arguments, planes):
    stage = lab(f"demo{os.getpid()}")
    for name in ("mrcd", "mrc-switch", "mrc-perf"):
        if not os.access(BIN / name, os.X_OK):
            raise demo_failure(f"{BIN / name} is missing; run without --no-build, or name its directory in MRC_BIN")
    try:
        with step(f"lab {stage.prefix}: 2 hosts, {planes} planes of 2 leaves and 2 spines, {arguments.switch}"):
            stage.run("up", "--planes", str(planes), "--leaves", "2", "--spines", "2", "--hosts", "2",
                      "--switch", arguments.switch, "--engine", arguments.engine, "--mtu", str(arguments.mtu))
        yield stage
    finally:
        with step("tear-down"):
            stage.end_processes()
            subprocess.run([LAB, "down", "--prefix", stage.prefix], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           check=False)
