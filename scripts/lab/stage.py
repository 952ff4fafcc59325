# SPDX-License-Identifier: Apache-2.0
"""What programs that show something on a lab stand on (scripts/demo, scripts/train-demo): progress, the build, and labs
that are removed whatever happens."""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent
LAB = str(SCRIPTS / "mrc-lab")
BIN = pathlib.Path(os.environ.get("MRC_BIN") or SCRIPTS.parent / "build" / "bin")
TAIL_LINES = 25
END_DEADLINE_S = 10
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class stage_failure(Exception):
    """Why the program ends early, and with which exit status."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


def number_in(low, high):
    """For argparse: whole numbers from `low` to `high`."""
    def parse(text):
        if not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"'{text}'; allowed: {low} to {high}")
        return int(text)
    return parse


class _shown:
    program = ""  # as the user calls it; main() knows


def main(program, show):
    """Runs show(), which returns the exit status; an interruption or stage_failure ends it with one line."""
    _shown.program = program
    for number in SIGNALS:
        signal.signal(number, _on_signal)
    try:
        return show()
    except stage_failure as failure:
        say(failure)
        return failure.status


def _on_signal(number, _frame):
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)  # the lab is being removed: once is enough
    raise stage_failure(f"interrupted by {signal.Signals(number).name}", status=128 + number)


def say(text):
    """Progress, and why it ends, on standard error."""
    print(f"{_shown.program}: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def step(what):
    """Says what is done, and how long it took."""
    started = time.monotonic()
    say(what)
    yield
    say(f"  done in {time.monotonic() - started:.1f} s")


def command(*argv, what, **options):
    """Runs a command; what it says is shown, in part, when it fails."""
    with tempfile.TemporaryFile() as log:
        done = subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                              check=False, **options)
        if done.returncode != 0:
            log.seek(0)
            tail = log.read().decode(errors="replace").splitlines()[-TAIL_LINES:]
            raise stage_failure(f"{what} failed:\n" + "\n".join("  | " + line for line in tail))


def build():
    with step("building; the first time this takes some minutes"):
        command(SCRIPTS / "build", what="scripts/build")


def need(*names):
    """Files below the folder of the binaries, or beside it."""
    for name in names:
        if not (BIN / name).exists():
            raise stage_failure(f"{BIN / name} is missing; run without --no-build, or name its directory in MRC_BIN")


class lab:
    """Hosts, and the commands that change what is between them."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.processes = []

    def run(self, *arguments):
        done = subprocess.run([LAB, *arguments, "--prefix", self.prefix], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise stage_failure(f"mrc-lab {' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")
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
def running_lab(name, hosts, planes, *options):
    """A lab of two leaves and two spines on each plane; `options` are those of `mrc-lab up`."""
    stage = lab(f"{name}{os.getpid()}")
    try:
        with step(f"lab {stage.prefix}: {hosts} hosts, {planes} plane{'s' * (planes > 1)} of 2 leaves and 2 spines"
                  + "".join(f" {word}" for word in options)):
            stage.run("up", "--planes", str(planes), "--leaves", "2", "--spines", "2", "--hosts", str(hosts), *options)
        yield stage
    finally:
        with step("tear-down"):
            stage.end_processes()
            subprocess.run([LAB, "down", "--prefix", stage.prefix], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, check=False)
