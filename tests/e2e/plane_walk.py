# SPDX-License-Identifier: Apache-2.0
"""A plane that is cut under a transfer, and restored."""

import signal

from lab_support import DEADLINE_S, check
from pinned_maps import ASSUMED_BAD, GOOD, host_maps
from transfer_support import wait_until

CUT_PLANE = 1
ENOUGH_BYTES = 1 << 20


class cut_and_restore:
    """On samples of the transfer's progress: cuts a plane, sees that the sender leaves it and goes on, restores it,
    sees that it is used again, and ends the transfer."""

    def __init__(self, fabric, address=None):
        self.fabric, self.sender = fabric, host_maps(f"{fabric.prefix}-h0")
        self.paths = self.sender.paths_to(address or fabric.host("h1")["mrc_address"], CUT_PLANE)
        self.steps = [self.cut, self.restore, self.end]
        self.bytes = 0

    def __call__(self, sample, process):
        if self.steps and sample["bytes"] >= self.bytes + ENOUGH_BYTES:
            self.steps.pop(0)(process)
            self.bytes = sample["bytes"]

    def wait_for(self, state, what):
        check(wait_until(lambda: self.sender.states(self.paths) == {state}, DEADLINE_S, 0.1), what)

    def cut(self, _process):
        self.fabric.run("plane", str(CUT_PLANE), "down")
        self.wait_for(ASSUMED_BAD, f"plane {CUT_PLANE} is cut, and the sender leaves its {len(self.paths)} paths")

    def restore(self, _process):
        self.fabric.run("plane", str(CUT_PLANE), "up")
        self.wait_for(GOOD, f"{ENOUGH_BYTES} bytes later it is restored, and the sender uses it again")

    def end(self, process):
        process.send_signal(signal.SIGINT)
