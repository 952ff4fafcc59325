#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page of mrc-doctor and its --help name the same options, and wrong command lines are answered in one
line."""

import os
import pathlib
import re
import subprocess

from lab_support import ROOT, binary, check, need_binaries

MANUAL = pathlib.Path(ROOT) / "docs" / "mrc-doctor.8"
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][a-z-]*")
REFUSED = {
    ("--nonsense",): ("--nonsense", "mrc-doctor --help"),
    ("nonsense",): ("nonsense", "mrc-doctor --help"),
    ("--config",): ("--config", "mrc-doctor --help"),
    ("--port",): ("--port", "mrc-doctor --help"),
    ("--port", "lo", "--config", "x"): ("--port", "--config"),
}
REFUSED_TO_ROOT = {
    ("--port", "nonsense"): ("--port", "'nonsense'"),
    ("--config", "/nonsense"): ("/nonsense", "cannot read"),
}


def run(*arguments):
    return subprocess.run([binary("mrc-doctor"), *arguments], text=True, capture_output=True, check=False)


def options_of(text):
    return set(OPTION.findall(text))


def main():
    need_binaries("mrc-doctor")
    page = re.sub(r"\\f.", "", MANUAL.read_text(encoding="utf-8")).replace("\\-", "-").replace("\\~", " ")
    done = run("--help")
    check(done.returncode == 0 and not done.stderr, "mrc-doctor has --help")
    offered = options_of(" ".join(re.findall(r"^  (-\S*)", done.stdout, re.MULTILINE)))
    section = page.split(".SH OPTIONS")[1].split(".SH PROBES")[0]
    headings = " ".join(re.findall(r"^\.TP\n(.*)$", section, re.MULTILINE))
    check(options_of(headings) == offered and len(offered) == 9, f"the manual has the options {sorted(offered)}")
    synopsis = page.split(".SH SYNOPSIS")[1].split(".SH DESCRIPTION")[0]
    check(options_of(synopsis) == {"--config", "--port", "--json"}, "and the synopsis those that choose")
    refused = REFUSED | (REFUSED_TO_ROOT if os.geteuid() == 0 else {})
    for arguments, words in refused.items():
        done = run(*arguments)
        check(done.returncode == 2 and done.stderr.count("\n") == 1 and all(word in done.stderr for word in words),
              f"mrc-doctor {' '.join(arguments)}: {done.stderr.strip()}")


if __name__ == "__main__":
    main()
