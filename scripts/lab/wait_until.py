# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition that has no event to wait on."""

import os
import time

# By how much deadlines are longer than on an ordinary machine: on an emulated one, what is slow must not look hung.
TIME_SCALE = int(os.environ.get("MRC_TIME_SCALE") or 1)


def wait_until(condition, seconds, interval_s=0.01):
    """Asks until the condition holds or the time is over; returns what it said last."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer or time.monotonic() > deadline:
            return answer
        time.sleep(interval_s)
