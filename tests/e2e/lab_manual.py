#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page and --help name the same commands and options."""

import re

from lab_support import check, mrc_lab
from manual import between, options_of, page


def synopsis(text, command):
    """The lines of the synopsis that belong to one command."""
    found = re.search(rf"^mrc-lab {command}\b.*?(?=^mrc-lab|^\.fi)", between(text, ".SH SYNOPSIS", ".SH DESCRIPTION"),
                      re.MULTILINE | re.DOTALL)
    return found.group(0) if found else ""


def main():
    text = page("mrc-lab.1")
    described = text.split(".SH COMMANDS")[1]
    commands = re.findall(r"^    ([a-z]+) ", mrc_lab("--help")[0], re.MULTILINE)
    check(len(commands) == 8, f"--help lists its commands: {', '.join(commands)}")
    for command in commands:
        offered = options_of(mrc_lab(command, "--help")[0]) - {"-h", "--help"}
        stated = options_of(synopsis(text, command))
        check(stated == offered, f"{command}: the synopsis has the options of --help"
              + ("" if stated == offered else f", but these differ: {sorted(stated ^ offered)}"))
        missing = sorted(option for option in offered if option not in described)
        check(not missing, f"{command}: every option is described" + (f", but not {missing}" if missing else ""))


if __name__ == "__main__":
    main()
