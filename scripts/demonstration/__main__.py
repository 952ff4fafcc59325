# SPDX-License-Identifier: Apache-2.0
"""scripts/demo: build, lab, a verified transfer with a plane cut in the middle, report, tear-down."""

import argparse
import json
import signal
import sys

sys.dont_write_bytecode = True

import report  # noqa: E402
from failure import demo_failure  # noqa: E402
from pack import packed_file  # noqa: E402
from stage import build, running_lab, step  # noqa: E402
from transfer import transfer  # noqa: E402

PLANES = 4
CUT_PLANE = 1
SIZES = (200, 100000)  # MB
MTUS = (1280, 9000)


def number_in(low, high):
    def parse(text):
        if not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"'{text}'; allowed: {low} to {high}")
        return int(text)
    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/demo", add_help=False, allow_abbrev=False)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--switch", choices=("xdp", "kernel"), default="xdp")
    parser.add_argument("--engine", choices=("auto", "xdp", "af_xdp"), default="auto")
    parser.add_argument("--size", type=number_in(*SIZES), default=600, metavar="MB")
    parser.add_argument("--mtu", type=number_in(*MTUS), default=3400, metavar="M")
    parser.add_argument("--no-build", action="store_true")
    return parser.parse_args()


def on_signal(number, _frame):
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)  # the lab is being removed: once is enough
    raise demo_failure(f"interrupted by {signal.Signals(number).name}", status=128 + number)


def run(arguments):
    if not arguments.no_build:
        with step("building; the first time this takes some minutes"):
            build()
    with packed_file(arguments.size * 10**6, step) as file, running_lab(arguments, PLANES) as lab:
        lab_report = transfer(lab, file, CUT_PLANE)
    return {**lab_report, "planes": PLANES, "cut_plane": CUT_PLANE, "switch": arguments.switch,
            "engine": arguments.engine, "mtu": arguments.mtu}


def main():
    arguments = parse_arguments()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    try:
        result = run(arguments)
    except demo_failure as failure:
        print(f"scripts/demo: {failure}", file=sys.stderr)
        return failure.status
    result["verified"] = report.every_byte_matched(result)
    print(json.dumps(result) if arguments.json else report.text(result), flush=True)
    return 0 if result["verified"] and result["status"] == "ok" else 1


if __name__ == "__main__":
    sys.exit(main())
