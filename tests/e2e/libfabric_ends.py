#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What libmrc-fi does by libfabric's calls, between two hosts of a lab, one case a run: writes and reads of the far
end's memory, regions that end, credit, objects that others use, requests to connect, hints and addresses, far ends that
break the protocol. A process has both ends (tests/fi)."""

import os
import subprocess
import sys

from lab_support import binary, check, lab, left_behind, need_binaries, need_root, skip
from libfabric_programs import PROVIDERS, check_nothing_is_left
from rank_processes import LIMIT_S

from lab.processes import instance_of

CASES = ("memory", "regions", "credit", "objects", "requests", "hints", "hostile")


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: libfabric_ends.py CASE; cases: {', '.join(CASES)}")
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl")
    if not os.access(binary("mrc-fi-ends"), os.X_OK):
        skip("mrc-fi-ends is not built: libfabric-dev is not installed (scripts/setup --test)")
    with lab("fiends", "--planes", "2", "--hosts", "2") as fabric:
        done = subprocess.run(
            fabric.enter("h0", binary("mrc-fi-ends"), sys.argv[1],
                         *(instance_of(fabric.prefix, host) for host in ("h0", "h1"))),
            env={**os.environ, **PROVIDERS}, text=True, capture_output=True, timeout=LIMIT_S, check=False)
        check(done.returncode == 0 and done.stdout == f"{sys.argv[1]} complete\n",
              f"{sys.argv[1]}: {done.stdout}{done.stderr}")
        check_nothing_is_left(fabric)
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
