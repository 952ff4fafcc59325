# SPDX-License-Identifier: Apache-2.0
"""A bar on a terminal, and nothing elsewhere, where the lines of the runs remain."""

import sys
import time

WIDTH = 24
OVER = "\r\033[K"


def note(text):
    """A line about a run under way, in place of the bar until the next one."""
    print((OVER if sys.stderr.isatty() else "") + f"    {text}", file=sys.stderr)


class bar:
    def __init__(self, total):
        self.total, self.done, self.begun = total, 0, time.monotonic()
        self.on_terminal = sys.stderr.isatty()

    def add(self, text):
        """One more run, which gave this."""
        self.done += 1
        if not self.on_terminal:
            print(f"  {text}", file=sys.stderr)
            return
        left_s = (time.monotonic() - self.begun) / self.done * (self.total - self.done)
        filled = WIDTH * self.done // self.total
        print(f"{OVER}  {text}\n[{'#' * filled}{'.' * (WIDTH - filled)}] {self.done} of {self.total}, "
              f"{left_s:.0f} s left", end="" if self.done < self.total else "\n", file=sys.stderr, flush=True)
