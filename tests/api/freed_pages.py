#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pages freed out of registered huge-page memory hurt their owner only (tests/api/freed_pages.c)."""

import contextlib
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_support import binary, check, lab, left_behind, need_binaries, need_root, skip

PAGES = 6
LIMIT_S = 120
SETTING = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


@contextlib.contextmanager
def huge_pages():
    """So many more than there were; the program takes all that are free."""
    if not SETTING.exists():
        skip("the kernel has no huge pages of 2 MiB")
    before = int(SETTING.read_text(encoding="ascii"))
    try:
        SETTING.write_text(str(before + PAGES), encoding="ascii")
        if (now := int(SETTING.read_text(encoding="ascii"))) < before + PAGES:
            skip(f"no {PAGES} huge pages to be had: nr_hugepages was {before}, became {now}")
        yield
    finally:
        SETTING.write_text(str(before), encoding="ascii")


def main():
    need_root()
    program = sys.argv[1]
    need_binaries("mrcd", "mrc-switch", program)
    with huge_pages(), lab("freed-pages", "--planes", "2", "--spines", "2") as fabric:
        done = subprocess.run([binary(program)], check=False, timeout=LIMIT_S,
                              env={**os.environ, "MRC_INSTANCE": f"{fabric.prefix}-h0,{fabric.prefix}-h1"})
        check(done.returncode == 0, f"{program} succeeds")
        check(all(host["alive"] for host in fabric.status()["hosts"]), "both daemons live on")
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
