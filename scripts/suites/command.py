# SPDX-License-Identifier: Apache-2.0
"""Runs one command with its output on our standard output as it comes, or kept for later."""

import subprocess
import sys
import threading
import time

# A process that a test left behind may hold the pipe for ever: its output is not waited for.
DRAIN_SECONDS = 2


# Scheduling policy SCHED_IDLE, inherited by all that the command starts: it has the CPU time that nobody else wants.
IDLE = ["chrt", "--idle", "0"]


def run(command, cwd, aside=False, quiet=False):
    """Runs the command to its end; (exit status, output, seconds). One that is quiet prints nothing; nor does one that
    runs aside, which has the CPU time that the rest leaves."""
    begin = time.monotonic()
    if aside:
        command = IDLE + command
    try:
        process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
    except OSError as error:
        return 127, f"{command[0]}: {error.strerror}\n", time.monotonic() - begin
    chunks = []
    ended = threading.Event()

    def copy():
        with process.stdout:
            for line in iter(process.stdout.readline, b""):
                if ended.is_set():
                    return
                text = line.decode("utf-8", "replace")
                chunks.append(text)
                if not (aside or quiet):
                    sys.stdout.write(text)
                    sys.stdout.flush()

    reader = threading.Thread(target=copy, daemon=True)
    reader.start()
    try:
        status = process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    reader.join(DRAIN_SECONDS)
    ended.set()
    return status, "".join(chunks), time.monotonic() - begin
