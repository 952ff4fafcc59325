#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/scenarios --resume goes on where a run was interrupted, and ends with the counts of an uninterrupted one."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["MRC_BIN"]).parent
FAILED = []


def check(holds, what):
    print(("ok   " if holds else "FAIL ") + what)
    if not holds:
        FAILED.append(what)


def run(kept):
    done = subprocess.run([ROOT / "scripts/scenarios", "--count", "450", "--jobs", "1", "--build", BUILD,
                           "--resume", kept, "--failures", kept.with_name("failed")],
                          text=True, capture_output=True, check=False)
    check(done.returncode == 0, f"450 scenarios hold {done.stdout.splitlines()[-1:]} {done.stderr[-300:]}")
    return done.stdout.splitlines()[:-1], done.stderr  # without how many a second


def main():
    with tempfile.TemporaryDirectory() as folder:
        kept = pathlib.Path(folder) / "kept"
        counts, _ = run(kept)
        lines = kept.read_text(encoding="utf-8").splitlines(keepends=True)
        check([json.loads(line)["count"] for line in lines] == [400, 50], "a part of 400 and one of 50 are kept")
        # An interruption in the middle of writing the second.
        kept.write_text(lines[0] + lines[1][:20], encoding="utf-8")
        again, said = run(kept)
        check(again == counts, "the same counts as without an interruption")
        check("450 of 450" in said and "not a part of a run" in said, "the part that was cut off is run again")
        whole = []
        for line in kept.read_text(encoding="utf-8").splitlines():
            try:
                whole.append(json.loads(line)["first"])
            except ValueError:
                pass
        check(whole == [1, 401], f"parts that were whole are not repeated {whole}")
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
