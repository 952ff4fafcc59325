#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/train-demo --json trains over MRC and TCP to the same weights, cuts planes within the runs, and leaves
nothing behind, also when it is interrupted."""

import glob
import json
import os
import subprocess
import sys

from demo_support import check_interrupted
from lab_support import ROOT, check, has_binary, left_behind, need_binaries, need_root, skip

sys.path.insert(0, os.path.join(ROOT, "scripts/training"))
from data import digits  # noqa: E402
from lab.stage import BIN, stage_failure  # noqa: E402

DEMO = os.path.join(ROOT, "scripts/train-demo")
LIMIT_S = 150
STEPS = 400  # the plane is dark for a second of about six


def start():
    return subprocess.Popen([DEMO, "--no-build", "--json", "--hosts", "2", "--steps", str(STEPS), "--outage", "1"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def left(process):
    traces = glob.glob("/tmp/mrc-train-*")
    for name in ("train", "trainp"):
        traces += left_behind(f"{name}{process.pid}")  # bash replaces itself by Python
    return traces


def test_whole():
    process = start()
    out, progress = process.communicate(timeout=LIMIT_S)
    check(process.returncode == 0, "it succeeds" + (f":\n{progress}" if process.returncode else ""))
    result = json.loads(out)
    runs = result["runs"]
    check(result["same_weights"] is True and len({run["weights"] for run in runs}) == 1,
          f"the weights of all {len(runs)} runs are the same")
    check([run["transport"] for run in runs] == ["MRC", "MRC", "TCP", "TCP"], "over MRC and TCP")
    check(all(len(run["steps"]) == STEPS for run in runs), f"after {STEPS} steps each")
    losses = [(run["steps"][0]["loss"], run["steps"][-1]["loss"]) for run in runs]
    check(all(last < first for first, last in losses), f"with less loss than at the start: {losses[0]}")
    check([run["cut_ms"] is not None for run in runs] == [False, True, False, True], "one of each is cut")
    for run in runs:
        if run["cut_ms"] is not None:
            end = run["steps"][-1]["t_ms"]
            check(0 < run["cut_ms"] < run["restored_ms"] < end, f"{run['name']}: dark from {run['cut_ms']:.0f} to "
                  f"{run['restored_ms']:.0f} ms of {end:.0f}")
    check(left(process) == [], "and nothing is left behind")


def test_interrupted():
    process = start()
    check_interrupted(process, f"train{process.pid}", lambda: left(process), LIMIT_S)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch")
    if not has_binary("../lib/libmrc-gloo.so"):
        skip("libmrc-gloo is not built: libgloo-dev is not installed")
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], check=False, capture_output=True).returncode != 0:
        skip("python3-torch is not installed")
    try:
        digits(BIN.parent / "training")  # kept for the demo
    except stage_failure as failure:
        skip(f"there are no digits to learn: {failure}")
    test_whole()
    test_interrupted()


if __name__ == "__main__":
    main()
