#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""[worker] affinity: the worker's thread runs on the CPUs that are named, mrcd's others where they ran before. By
default the scheduler chooses, on a host of one NUMA node."""

import os
import pathlib

from lab_support import check, lab, log_lines, need_binaries, need_root
from transfer_support import transfer

SHAPE = ("--planes", "1", "--leaves", "1", "--spines", "1", "--hosts", "2")


def cpus_by_thread(pid):
    """Cpus_allowed_list of the threads of this name."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        lines = (task / "status").read_text("ascii").splitlines()
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        found.setdefault(status["Name"], set()).add(status["Cpus_allowed_list"])
    return found


def main():
    need_root()
    need_binaries("mrcd", "mrcctl", "mrc-perf", "mrc-switch")
    usual = pathlib.Path("/proc/self/status").read_text("ascii").split("Cpus_allowed_list:\t")[1].split("\n")[0]
    last = max(os.sched_getaffinity(0))
    with lab("cpus", *SHAPE, config=f"[worker]\naffinity = '{last}'\n") as fabric:
        threads = cpus_by_thread(fabric.host("h0")["pid"])
        worker = threads.pop("mrc-worker")
        check(worker == {str(last)}, f"the worker runs on CPU {last}, as configured: {worker}")
        check(set.union(*threads.values()) == {usual}, f"other threads of mrcd as before, on {usual}: {threads}")
        said = [line for line in log_lines(fabric.log("h0"), "info") if line.startswith("worker on ")]
        check(said == [f"worker on CPU {last}: as configured"], f"the log says so: {said}")
        client, served, _ = transfer(fabric, "-n", "20", "-s", "64K", "--verify")
        check(client.status == 0 and served["verified"] is True, f"it transfers {client.complaints}")
    with lab("anycpu", *SHAPE) as fabric:
        worker = cpus_by_thread(fabric.host("h0")["pid"])["mrc-worker"]
        nodes = pathlib.Path("/sys/devices/system/node/has_cpu").read_text("ascii").strip()
        check(worker == {usual} or nodes != "0", f"by default the worker runs where the scheduler puts it: {worker}")


if __name__ == "__main__":
    main()
