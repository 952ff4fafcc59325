# SPDX-License-Identifier: Apache-2.0
"""scripts/demo: build, lab, a verified transfer with a plane cut in the middle, report, tear-down."""

import argparse
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import report  # noqa: E402
from lab import stage  # noqa: E402
from lab.stage import number_in  # noqa: E402
from pack import packed_file  # noqa: E402
from page import keep_open, open_page  # noqa: E402
from transfer import transfer  # noqa: E402

PLANES = 4
CUT_PLANE = 1
SIZES = (200, 100000)  # MB
MTUS = (1280, 9000)
VIEW_S = (1, 86400)
USUAL_VIEW_S = 600


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/demo", add_help=False, allow_abbrev=False)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--fabric", choices=("srv6", "direct", "bridge", "router"), default="srv6")
    parser.add_argument("--switch", choices=("xdp", "kernel"), default="xdp")
    parser.add_argument("--engine", choices=("auto", "xdp", "af_xdp"), default="auto")
    parser.add_argument("--size", type=number_in(*SIZES), default=600, metavar="MB")
    parser.add_argument("--mtu", type=number_in(*MTUS), default=3400, metavar="M")
    parser.add_argument("--view", type=number_in(*VIEW_S), nargs="?", const=USUAL_VIEW_S, metavar="SECONDS")
    parser.add_argument("--no-build", action="store_true")
    return parser.parse_args()


def run(arguments):
    if not arguments.no_build:
        stage.build()
    stage.need("mrcd", "mrc-switch", "mrc-perf", *(("mrc-view",) if arguments.view else ()))
    with packed_file(arguments.size * 10**6) as file, \
            stage.running_lab("demo", 2, PLANES, "--fabric", arguments.fabric, "--switch", arguments.switch,
                              "--engine", arguments.engine, "--mtu", str(arguments.mtu)) as lab:
        if arguments.view:
            open_page(lab)
        result = {**transfer(lab, file, CUT_PLANE), "planes": PLANES, "cut_plane": CUT_PLANE,
                  "fabric": arguments.fabric, "switch": arguments.switch, "engine": arguments.engine,
                  "mtu": arguments.mtu}
        result["verified"] = report.every_byte_matched(result)
        if arguments.view:
            show_result(result, arguments)
            keep_open(lab, arguments.view)
    if not arguments.view:
        show_result(result, arguments)
    return result


def show_result(result, arguments):
    print(json.dumps(result) if arguments.json else report.text(result), flush=True)


def show():
    result = run(parse_arguments())
    return 0 if result["verified"] and result["status"] == "ok" else 1


if __name__ == "__main__":
    sys.exit(stage.main("scripts/demo", show))
