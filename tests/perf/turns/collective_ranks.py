# SPDX-License-Identifier: Apache-2.0
"""Ranks of mrc-collectives on the hosts of a lab, as many as hosts or taking turns, and rank 0's report."""

import json

from lab_support import binary
from rank_processes import ranks

PORT = 29500


class collective_ranks(ranks):
    """`where(host)`: options of a rank there, a host's number; `master`: the address of h0 that all can reach."""

    def __init__(self, fabric, folder, size, master, *options, where=lambda host: (), wrapper=()):
        hosts = len(fabric.host_names())
        super().__init__(fabric, folder, [
            ([*wrapper, binary("mrc-collectives"), "--rank", str(rank), "--ranks", str(size), "--master",
              f"[{master}]:{PORT}", *where(rank % hosts), *options, "--json"], {}) for rank in range(size)])

    def report(self):
        """Rank 0's, once all have succeeded."""
        self.all_succeed()
        return json.loads(next(line for line in self.said(0).splitlines() if line.startswith("{")))
