#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page of mrc-perf and its --help name the same options, and wrong ones are answered with the right ones."""

import pathlib
import re
import subprocess

from lab_support import ROOT, binary, check, need_binaries

MANUAL = pathlib.Path(ROOT) / "docs" / "mrc-perf.1"
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][a-z-]*")
REFUSED = {
    ("-s", "3x", "::1"): ("-s is '3x'", "64K"),
    ("-s", "3G", "::1"): ("-s is '3G'", "2G"),
    ("-q", "0", "::1"): ("-q is 0", "1 to 4096"),
    ("--timeout", "25", "::1"): ("--timeout is 25", "0 to 24"),
    ("--window", "5000", "::1"): ("--window is 5000", "1 to 4096"),
    ("-s", "1G", "-q", "8", "::1"): ("registered memory", "4294967296"),
    ("-n", "1", "-D", "1", "::1"): ("-n and -D",),
    ("--lat", "--bidir", "::1"): ("--lat", "without"),
    ("--file", "/nonexistent", "::1"): ("/nonexistent", "No such file"),
    ("--lat",): ("without HOST", "--once"),
    ("--once", "::1"): ("--once", "server"),
    ("-s", "8:4", "::1"): ("-s is '8:4'", "FROM not above TO"),
    ("-a", "-s", "8", "::1"): ("-a and -s",),
    ("-s", "1:8", "--file", "/etc/hostname", "::1"): ("--file has one size",),
    ("--memory", "huge", "::1"): ("--memory", "shared", "process"),
    ("--nonsense",): ("--nonsense",),
}


def options_of(text):
    return set(OPTION.findall(text))


def main():
    need_binaries("mrc-perf")
    offered = options_of(subprocess.run([binary("mrc-perf"), "--help"], text=True, capture_output=True,
                                        check=True).stdout.split("Options:")[1])
    page = re.sub(r"\\f.", "", MANUAL.read_text(encoding="utf-8")).replace("\\-", "-")
    described = set()
    for heading in re.findall(r"^\.TP\n(.*)$", page.split(".SH OPTIONS")[1].split(".SH REPORT")[0], re.MULTILINE):
        described |= options_of(heading)
    check(described == offered, f"the manual describes the options of --help {sorted(described ^ offered) or ''}")
    for arguments, words in REFUSED.items():
        done = subprocess.run([binary("mrc-perf"), *arguments], text=True, capture_output=True, check=False)
        check(done.returncode == 2 and all(word in done.stderr for word in words),
              f"mrc-perf {' '.join(arguments)}: {done.stderr.strip().splitlines()[:1]}")


if __name__ == "__main__":
    main()
