#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page and --help name the same commands and options."""

import pathlib
import re

from lab_support import check, mrc_lab

MANUAL = pathlib.Path(__file__).resolve().parents[2] / "docs" / "mrc-lab.1"
OPTION = re.compile(r"--[a-z][a-z-]*")


def synopsis(page, command):
    """The lines of the synopsis that belong to one command, without font changes."""
    text = re.sub(r"\\f.", "", page.split(".SH DESCRIPTION")[0]).replace("\\-", "-")
    found = re.search(rf"^mrc-lab {command}\b.*?(?=^mrc-lab|^\.fi)", text, re.MULTILINE | re.DOTALL)
    return found.group(0) if found else ""


def main():
    page = MANUAL.read_text(encoding="utf-8")
    described = re.sub(r"\\f.", "", page.split(".SH COMMANDS")[1]).replace("\\-", "-")
    usage = mrc_lab("--help")[0]
    commands = re.findall(r"^    ([a-z]+) ", usage, re.MULTILINE)
    check(len(commands) == 8, f"--help lists its commands: {', '.join(commands)}")
    for command in commands:
        offered = set(OPTION.findall(mrc_lab(command, "--help")[0])) - {"--help"}
        stated = set(OPTION.findall(synopsis(page, command)))
        check(stated == offered, f"{command}: the synopsis has the options of --help"
              + ("" if stated == offered else f", but these differ: {sorted(stated ^ offered)}"))
        missing = sorted(option for option in offered if option not in described)
        check(not missing, f"{command}: every option is described" + (f", but not {missing}" if missing else ""))


if __name__ == "__main__":
    main()
