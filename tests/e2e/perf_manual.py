#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page of mrc-perf and its --help name the same options, and wrong ones are answered with the right ones."""

from lab_support import check, need_binaries
from manual import between, check_refused, described, options_of, page, run

REFUSED = {
    ("-s", "3x", "::1"): ("-s is '3x'", "64K", "1.5M"),
    ("-s", "1.5", "::1"): ("-s is '1.5'", "1.5M"),
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
    ("--events", "::1"): ("--events", "--lat only"),
    ("--percentiles", "x.csv", "::1"): ("--percentiles", "--lat"),
    ("--lat", "-a", "--percentiles", "x.csv", "::1"): ("--percentiles", "one size"),
    ("--rate", "0", "::1"): ("--rate is 0", "1 to 100000000"),
    ("--lat", "--rate", "5", "::1"): ("--lat", "without --rate"),
    ("--rate", "5"): ("without HOST", "--once"),
    ("--nonsense",): ("--nonsense",),
}


def main():
    need_binaries("mrc-perf")
    done = run("mrc-perf", "--help")
    check(done.returncode == 0 and not done.stderr, "mrc-perf has --help")
    differing = described(between(page("mrc-perf.1"), ".SH OPTIONS", ".SH REPORT")) ^ options_of(
        done.stdout.split("Options:")[1])
    check(not differing, f"the manual describes the options of --help {sorted(differing) or ''}")
    check_refused("mrc-perf", REFUSED)


if __name__ == "__main__":
    main()
