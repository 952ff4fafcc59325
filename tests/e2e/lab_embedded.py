# SPDX-License-Identifier: Apache-2.0
"""Hosts without an mrcd of their own, whose programs run the daemon inside themselves (MRC_EMBEDDED)."""

import os
import signal

from lab_support import DEADLINE_S, check
from lab.wait_until import wait_until


class embedding_lab:
    """A lab whose daemons have been ended: on hosts in `own` each program brings its own, on others it uses the one
    that is there."""

    def __init__(self, fabric):
        self.fabric = fabric
        self.own = {"h0", "h1"}
        for host in self.own:
            pid = fabric.host(host)["pid"]
            os.kill(pid, signal.SIGTERM)
            check(wait_until(lambda pid=pid: not os.path.exists(f"/proc/{pid}"), DEADLINE_S), f"{host} has no mrcd")

    def __getattr__(self, name):
        return getattr(self.fabric, name)

    def instance(self, host):
        return f"{self.fabric.prefix}-{host}"

    def config(self, host):
        return self.fabric.host(host)["config"]

    def environment(self, host):
        if host in self.own:
            return {"MRC_EMBEDDED": self.config(host)}
        return self.fabric.environment(host)
