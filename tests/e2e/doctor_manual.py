#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page of mrc-doctor and its --help name the same options, and wrong command lines are answered in one
line."""

import os
import re

from lab_support import check, need_binaries
from manual import between, check_refused, described, options_of, page, run

REFUSED = {
    ("--nonsense",): ("--nonsense", "mrc-doctor --help"),
    ("nonsense",): ("nonsense", "mrc-doctor --help"),
    ("--config",): ("--config", "mrc-doctor --help"),
    ("--port",): ("--port", "mrc-doctor --help"),
    ("--port", "lo", "--config", "x"): ("--port", "--config"),
    ("--port", "lo", "--peer", "x"): ("--port", "--peer"),
}
REFUSED_TO_ROOT = {
    ("--port", "nonsense"): ("--port", "'nonsense'"),
    ("--config", "/nonsense"): ("/nonsense", "cannot read"),
}


def main():
    need_binaries("mrc-doctor")
    text = page("mrc-doctor.8")
    done = run("mrc-doctor", "--help")
    check(done.returncode == 0 and not done.stderr, "mrc-doctor has --help")
    offered = options_of(" ".join(re.findall(r"^  (-\S*)", done.stdout, re.MULTILINE)))
    stated = described(between(text, ".SH OPTIONS", ".SH PROBES"))
    check(stated == offered and len(offered) == 10, f"the manual has the options {sorted(offered)}")
    check(options_of(between(text, ".SH SYNOPSIS", ".SH DESCRIPTION")) == {"--config", "--port", "--peer", "--json"},
          "and the synopsis those that choose")
    check_refused("mrc-doctor", REFUSED | (REFUSED_TO_ROOT if os.geteuid() == 0 else {}))


if __name__ == "__main__":
    main()
