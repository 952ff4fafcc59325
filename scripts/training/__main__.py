# SPDX-License-Identifier: Apache-2.0
"""scripts/train-demo: build, labs, four trainings, report, tear-down."""

import argparse
import json
import pathlib
import signal
import sys

sys.dont_write_bytecode = True

import report  # noqa: E402
from job import train  # noqa: E402
from stage import BIN, build, digits, running_lab, step, training_failure  # noqa: E402

PLANES, CUT_PLANE = 4, 1


def number_in(low, high):
    def parse(text):
        if not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"'{text}'; allowed: {low} to {high}")
        return int(text)
    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/train-demo", add_help=False, allow_abbrev=False)
    parser.add_argument("--hosts", type=number_in(2, 4), default=3, metavar="N")
    parser.add_argument("--steps", type=number_in(50, 5000), default=240, metavar="N")
    parser.add_argument("--outage", type=number_in(1, 30), default=3, metavar="S")
    parser.add_argument("--svg", metavar="FILE")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-build", action="store_true")
    return parser.parse_args()


def on_signal(number, _frame):
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)  # the lab is being removed: once is enough
    raise training_failure(f"interrupted by {signal.Signals(number).name}", status=128 + number)


def run(arguments):
    if not arguments.no_build:
        with step("building; the first time this takes some minutes"):
            build()
    with step("the digits"):
        data = digits(BIN.parent / "training")
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


def main():
    arguments = parse_arguments()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    try:
        runs = run(arguments)
    except training_failure as failure:
        print(f"scripts/train-demo: {failure}", file=sys.stderr)
        return failure.status
    if arguments.svg:
        pathlib.Path(arguments.svg).write_text(report.svg(runs), encoding="utf-8")
    same = report.same_weights(runs)
    print(json.dumps({"runs": runs, "same_weights": same}) if arguments.json else report.text(runs), flush=True)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
