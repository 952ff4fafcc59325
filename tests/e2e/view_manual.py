#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page of mrc-view and its --help name the same options, and wrong command lines are answered in one
line."""

import re

from lab_support import check, need_binaries
from manual import between, check_refused, described, options_of, page, run

REFUSED = {
    ("--nonsense",): ("--nonsense", "mrc-view --help"),
    ("nonsense",): ("nonsense", "mrc-view --help"),
    ("--instance",): ("--instance", "mrc-view --help"),
    ("--instance", "a", "--lab", "b"): ("--instance", "--lab"),
    ("--listen", "localhost"): ("--listen", "'localhost' is no address to listen at", "IPv4:PORT", "[IPv6]:PORT"),
    ("--listen", "65536"): ("--listen", "0 to 65535"),
}


def main():
    need_binaries("mrc-view")
    text = page("mrc-view.8")
    done = run("mrc-view", "--help")
    check(done.returncode == 0 and not done.stderr, "mrc-view has --help")
    offered = options_of(" ".join(re.findall(r"^  (-\S*)", done.stdout, re.MULTILINE)))
    stated = described(between(text, ".SH OPTIONS", ".SH THE PAGE"))
    check(stated == offered and {"--instance", "--lab", "--listen"} < offered,
          f"the manual has the options {sorted(offered)}")
    check(options_of(between(text, ".SH SYNOPSIS", ".SH DESCRIPTION")) == {"--instance", "--lab", "--listen"},
          "and the synopsis those that choose")
    check_refused("mrc-view", REFUSED)


if __name__ == "__main__":
    main()
