#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How soon a plane that is cut shows in mrc-view: from the order to the lab until it has done it, until the daemon
tells so, by the daemon's own clock, and until a snapshot shows the link dark. The page asks for one four times a
second.

usage: view_cut.py [--rounds N]
"""

import argparse
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from lab_support import check, lab, need_binaries, need_root  # noqa: E402
from transfer_support import wait_until  # noqa: E402
from view_support import LAB, LIMIT_S, link_in, traffic, view  # noqa: E402

PLANE = 1


def is_dark(snapshot, name):
    return link_in(snapshot, PLANE, name, f"p{PLANE}t0-0")["state"] == "dark"


def told_ns(served, since_ns):
    """When the daemon told that the plane is out of use, after this."""
    events = served.ask("/history?points=0&events=0").json["events"]
    return next((event["time_ns"] for event in events if event["event"] == "plane_out_of_use" and
                 event["plane"] == PLANE and event["time_ns"] >= since_ns), None)


def cut(fabric, served, name):
    """Seconds from the order until the daemon told, and until it was shown; until the lab had done it, for mrc-lab is a
    program that starts first."""
    ordered_ns = time.monotonic_ns()
    fabric.run("plane", str(PLANE), "down")
    done_ns = time.monotonic_ns()
    check(wait_until(lambda: is_dark(served.snapshot(), name), LIMIT_S), "the plane is dark")
    shown_ns = time.monotonic_ns()
    told = wait_until(lambda: told_ns(served, ordered_ns), LIMIT_S)
    check(told, "and told to be out of use")
    fabric.run("plane", str(PLANE), "up")
    check(wait_until(lambda: not is_dark(served.snapshot(), name), LIMIT_S), "and is not any more")
    return tuple((end_ns - ordered_ns) / 1e9 for end_ns in (done_ns, told, shown_ns))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrc-view")
    with lab("view-cut", *LAB) as fabric:
        name = f"{fabric.prefix}-h0"
        with traffic(fabric), view("--instance", name) as served:
            check(wait_until(lambda: not is_dark(served.snapshot(), name), LIMIT_S), "traffic is shown")
            rounds = [cut(fabric, served, name) for _ in range(options.rounds)]
    for what, times in zip(("cut by the lab", "told by the daemon", "shown in a snapshot"), zip(*rounds)):
        print(f"{what:20} {len(times)} rounds: least {min(times):.3f}, median {statistics.median(times):.3f}, "
              f"most {max(times):.3f} s after the order", flush=True)


if __name__ == "__main__":
    main()
