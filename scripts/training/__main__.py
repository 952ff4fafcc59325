# SPDX-License-Identifier: Apache-2.0
"""scripts/train-demo: build, labs, four trainings, report, tear-down."""

import argparse
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import report  # noqa: E402
from data import digits  # noqa: E402
from job import train  # noqa: E402
from lab import stage  # noqa: E402
from lab.stage import number_in, running_lab, stage_failure, step  # noqa: E402

PLANES, CUT_PLANE = 4, 1


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/train-demo", add_help=False, allow_abbrev=False)
    parser.add_argument("--hosts", type=number_in(2, 4), default=3, metavar="N")
    parser.add_argument("--steps", type=number_in(50, 5000), default=240, metavar="N")
    parser.add_argument("--outage", type=number_in(1, 30), default=3, metavar="S")
    parser.add_argument("--svg", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-build", action="store_true")
    return parser.parse_args()


def run(arguments):
    if not arguments.no_build:
        stage.build()
    stage.need("mrcd", "mrc-switch", "../lib/libmrc-gloo.so")
    with step("the digits"):
        data = digits(stage.BIN.parent / "training")
    runs = []

    def one(lab, name, transport, plane=None):
        with step(f"training: {name}"):
            runs.append(train(lab, name, transport, arguments, data, plane))
    with running_lab("train", arguments.hosts, PLANES) as lab:
        one(lab, f"MRC, {PLANES} planes", "MRC")
        one(lab, f"MRC, {PLANES} planes, one cut", "MRC", CUT_PLANE)
        one(lab, "TCP", "TCP")
    with running_lab("trainp", arguments.hosts, 1) as lab:
        one(lab, "TCP on one plane, which is cut", "TCP", 0)
    return runs


def draw(file, runs):
    try:
        file.write_text(report.svg(runs), encoding="utf-8")
    except OSError as error:
        raise stage_failure(f"cannot write {file}: {error.strerror}") from error


def show():
    arguments = parse_arguments()
    runs = run(arguments)
    same = report.same_weights(runs)
    print(json.dumps({"runs": runs, "same_weights": same}) if arguments.json else report.text(runs), flush=True)
    if arguments.svg:
        draw(arguments.svg, runs)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(stage.main("scripts/train-demo", show))
