# SPDX-License-Identifier: Apache-2.0
"""What the tests of scripts/demo and scripts/train-demo share."""

import os
import signal

from lab_support import DEADLINE_S, check
from transfer_support import wait_until


def check_interrupted(process, prefix, left, limit_s):
    """A demo whose lab has this prefix is interrupted once it has its hosts; left() lists what it leaves behind."""
    reached = wait_until(lambda: os.path.isdir(f"/run/mrc/{prefix}-h1"), DEADLINE_S)
    check(reached, "a second demo has its hosts")
    process.send_signal(signal.SIGINT)
    out, progress = process.communicate(timeout=limit_s)
    check(process.returncode == 130 and out == "", f"SIGINT ends it with 130: {progress.splitlines()[-1:]}")
    check(left() == [], "and nothing is left behind")
