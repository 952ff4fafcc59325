#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A command line that a program does not take: one line that names what is wrong, and status 2, of every program."""

import subprocess

from lab_support import DEADLINE_S, LAB, binary, check, has_binary

PROGRAMS = ("mrcd", "mrcctl", "mrc-perf", "mrc-doctor", "mrc-view", "mrc-sim", "mrc-switch", "mrc-collectives")
# Beside an option that there is not: those with commands or arguments look for these first.
NEEDED = {"mrc-sim": ["scenario.toml"], "mrc-switch": ["show", "--pin", "nowhere"]}
WRONG = "--nonsense"


def ended(*argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, text=True, capture_output=True, check=False,
                          timeout=DEADLINE_S)


def main():
    for name in PROGRAMS:
        if not has_binary(name):  # mrc-collectives where there is no Gloo
            continue
        done = ended(binary(name), *NEEDED.get(name, []), WRONG)
        check(done.returncode == 2, f"{name}: status {done.returncode}")
        lines = done.stderr.splitlines()
        check(len(lines) == 1 and lines[0].startswith(f"{name}: ") and WRONG in lines[0] and not done.stdout,
              f"one line names the option: {lines}")
        check(ended(binary(name), "--version").returncode == 0, f"{name}: what is right is no error")
    check(ended(LAB, "up", WRONG).returncode == 2, "mrc-lab: status 2")


if __name__ == "__main__":
    main()
