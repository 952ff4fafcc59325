# SPDX-License-Identifier: Apache-2.0
"""scripts/demo --view: mrc-view's page of the lab, and traffic to look at until Enter, or for a time."""

import os
import selectors
import subprocess
import sys
import time

from lab.stage import BIN, say, stage_failure
from transfer import PERF, READY_DEADLINE_S, line_reader, start_server

# 1 Gbit/s: what two cores carry beside a browser.
TRAFFIC = ("-s", "256K", "--rate", "500", "-D")


def open_page(lab):
    """Starts mrc-view, which ends with the lab, and says where the page is."""
    process = subprocess.Popen([BIN / "mrc-view", "--lab", lab.prefix, "--listen", "0"], text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lab.processes.append(process)
    line = line_reader(process.stdout).next(READY_DEADLINE_S, lambda: "mrc-view")
    if line is None:
        raise stage_failure(process.stderr.read().strip())
    say(f"the page is {line.split()[1]}")


def keep_open(lab, seconds):
    """Traffic from h0 to h1 until Enter is pressed, or so many seconds are over."""
    start_server(lab)
    lab.start("h0", PERF, lab.address("h1"), *TRAFFIC, str(seconds + READY_DEADLINE_S),
              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    say(f"traffic flows; Enter ends it, or {seconds} s")
    wait_for_enter(seconds)


def wait_for_enter(seconds):
    """A standard input that has nothing to say has no Enter, and the time counts."""
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(sys.stdin, selectors.EVENT_READ)
        except (PermissionError, ValueError):
            pass  # a file, or none
        while (left := deadline - time.monotonic()) > 0:
            if selector.select(left):
                if os.read(sys.stdin.fileno(), 4096):
                    return
                selector.unregister(sys.stdin)
