#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program of tests/api between two daemons of a lab, through libmrc.so: as C11 (NAME_c) or as C++ (NAME_cpp).

usage: two_hosts.py PROGRAM [ARGUMENTS of the program]
"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_support import LAB, binary, check, lab, left_behind, need_binaries, need_root

LIMIT_S = 240
OPTIONS = {"controller": ["--ipv4"]}


def run(fabric, program, arguments):
    """The program with the devices of both hosts, and a command that takes port 1's first uplink down or up; whatever
    it says goes to the log."""
    environment = {"MRC_INSTANCE": f"{fabric.prefix}-h0,{fabric.prefix}-h1",
                   "MRC_TEST_SPINE": f"{LAB} switch --prefix {fabric.prefix} p0t1-0"}
    done = subprocess.run([binary(program), *arguments], check=False, timeout=LIMIT_S,
                          env={**os.environ, **environment})
    check(done.returncode == 0, " ".join([program, *arguments, "succeeds"]))


def main():
    program, *arguments = sys.argv[1:]
    name = program.rpartition("_")[0]
    need_root()
    need_binaries("mrcd", "mrc-switch", program)
    with lab(f"api-{name.replace('_', '-')}", "--planes", "2", "--spines", "2", *OPTIONS.get(name, [])) as fabric:
        run(fabric, program, arguments)
        check(all(host["alive"] for host in fabric.status()["hosts"]), "both daemons live on")
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
