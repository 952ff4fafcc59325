#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcd's USDT probes: their notes, one for each kind of trace event of docs/trace.md; and the examples of that page, by
bpftrace, against a daemon that sends over a link that loses packets.

usage: trace_probes.py notes|bpftrace"""

import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from lab_support import DEADLINE_S, ROOT, binary, check, lab, need_binaries, need_root, skip
from transfer_support import random_file, transfer, wait_until

PAGE = pathlib.Path(ROOT) / "docs/trace.md"
NOTE = re.compile(r"Provider: (\w+)\s+Name: (\w+)\s+Location: \w+, Base: \w+, Semaphore: (0x\w+)\s+Arguments: (.*)")
EXAMPLE = re.compile(r"```bpftrace\n(.*?)```", re.S)
SHOWN = re.compile(r"@\w+|qp \d+ psn")
ARGUMENTS = 6


def kinds():
    """Those of the page's first table of events."""
    rows = PAGE.read_text("utf-8").split("## Events", 1)[1].split("\n\n")[1].splitlines()[2:]
    return {kind for row in rows for kind in re.findall(r"`(\w+)`", row.split("|")[1])}


def check_notes():
    need_binaries("mrcd")
    shown = subprocess.run(["readelf", "-n", binary("mrcd")], capture_output=True, text=True, check=True).stdout
    notes = {name: (provider, semaphore, arguments.split())
             for provider, name, semaphore, arguments in NOTE.findall(shown)}
    check(notes.keys() == kinds(), f"mrcd has a probe for each kind of event: {sorted(notes)}")
    check({provider for provider, _, _ in notes.values()} == {"mrc"}, "of provider mrc")
    check(all(len(arguments) == ARGUMENTS for _, _, arguments in notes.values()), "with six arguments each")
    semaphores = [int(semaphore, 16) for _, semaphore, _ in notes.values()]
    check(0 not in semaphores and len(set(semaphores)) == len(semaphores), "and a word of its own that says who traces")


def need_uprobes():
    if subprocess.run(["which", "bpftrace"], capture_output=True, check=False).returncode:
        skip("bpftrace is not installed")
    tried = subprocess.run(["bpftrace", "-e", f"uprobe:{binary('mrcd')}:main {{ }} BEGIN {{ exit(); }}"],
                           capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    if tried.returncode:
        skip(f"bpftrace cannot attach to a program here: {tried.stderr.strip()}")


def look_by(program, fabric, directory):
    """What the program has shown of one transfer: nothing, if that was over before it was attached."""
    process = subprocess.Popen(["bpftrace", "-p", str(fabric.host("h0")["pid"]), "-e", program],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        first = process.stdout.readline()
        check("Attaching" in first, f"bpftrace attaches: {first.strip()}")
        client, report, _ = transfer(fabric, "--file", str(random_file(directory, 2)))
        check(client.status == 0 and report["verified"], f"a file arrives whole {client.complaints}")
        process.send_signal(signal.SIGINT)
        shown, told = process.communicate(timeout=DEADLINE_S)
        check(process.returncode == 0, f"and bpftrace ends {told.strip()}")
        return shown.strip()
    finally:
        process.kill()
        process.wait()


def check_example(fabric, directory, example):
    program = example.replace("MRCD", binary("mrcd"))
    shown = []

    def shows():
        shown.append(look_by(program, fabric, directory))
        return SHOWN.search(shown[-1])

    check(wait_until(shows, DEADLINE_S), f"{example.strip()}\n{shown[-1][:400]}")


def check_bpftrace():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrcctl")
    need_uprobes()
    examples = EXAMPLE.findall(PAGE.read_text("utf-8"))
    check(len(examples) > 2, f"the page has {len(examples)} examples")
    with lab("probes", "--planes", "2", "--spines", "2") as fabric, tempfile.TemporaryDirectory() as directory:
        fabric.run("impair", "h1", "p0t0-1", "--loss", "5%")
        for program in examples:
            check_example(fabric, directory, program)


if __name__ == "__main__":
    {"notes": check_notes, "bpftrace": check_bpftrace}[sys.argv[1]]()
