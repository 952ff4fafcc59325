#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that run the daemon inside themselves (MRC_EMBEDDED): verified transfers by every way of waiting and from
every kind of memory, with a plane cut; the host's other programs and tools beside; what is refused, in words; and
nothing is left of one that ended, or was killed. One engine a run."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from lab_embedded import embedding_lab
from lab_support import DEADLINE_S, binary, check, lab, left_behind, need_binaries, need_root
from public_folder import public_folder
from transfer_support import lines_of, random_file, run_client, server, start_perf, transfer

PLANES = 2
CUT_AFTER_BYTES = 32 << 20
NOBODY = 65534
INTERRUPTED = 130  # both ends verified what had come


def attempt(fabric, host, *argv, **variables):
    """A program that is expected to fail at once: its status and words."""
    done = subprocess.run(fabric.enter(host, *argv), capture_output=True, text=True, check=False, timeout=DEADLINE_S,
                          env={**os.environ, **variables})
    return done.returncode, done.stderr


def check_transfers(fabric):
    with tempfile.TemporaryDirectory() as directory:
        path = random_file(directory, 16)
        for memory in ("shared", "process"):
            client, report, status = transfer(fabric, "--file", str(path), "--memory", memory)
            check(client.status == status == 0 and client.report["sha256_sent"] == report["sha256_received"] != "",
                  f"a file arrives whole, from {memory} memory {client.complaints}")
    for arguments in (("-s", "1", "-n", "500"), ("-s", "64K", "-n", "300", "-q", "8", "--bidir", "--memory", "process"),
                      ("-s", "64", "-n", "20000", "--window", "256"), ("--lat", "-n", "300"),
                      ("--lat", "-n", "300", "--events")):
        client, _, status = transfer(fabric, *arguments, *(() if "--lat" in arguments else ("--verify",)))
        check(client.status == 0 and status == 0, f"{' '.join(arguments)} {client.complaints}")


def check_plane_cut(fabric):
    cut, ended = [], []

    def on_sample(sample, process):
        if not cut and sample["bytes"] > CUT_AFTER_BYTES:
            cut.append(sample["bytes"])
            fabric.run("plane", "1", "down")
        elif cut and not ended and sample["bytes"] > 2 * CUT_AFTER_BYTES + cut[0]:
            ended.append(True)
            process.send_signal(signal.SIGINT)

    client, _, status = transfer(fabric, "-s", "1M", "-D", "60", "--memory", "process", "--verify", on_sample=on_sample)
    fabric.run("plane", "1", "up")
    check(cut and client.report["bytes"] > 2 * CUT_AFTER_BYTES + cut[0] and client.status == status == INTERRUPTED,
          f"a plane's death stops nothing, and every byte is verified {client.complaints}")


def check_neighbours(fabric):
    """A program with the daemon inside serves its host as mrcd does."""
    listed = []

    def on_sample(_, process):
        if not listed:
            said = fabric.inside("h1", binary("mrcctl"), "--instance", fabric.instance("h1"), "-j", "client", "list")
            listed.append([row["command"] for row in json.loads(said)])
            process.send_signal(signal.SIGINT)

    with server(fabric):
        fabric.own.remove("h1")
        client = run_client(fabric, "-D", "60", "--verify", host="h1", on_sample=on_sample)
        fabric.own.add("h1")
        check(client.status == INTERRUPTED and client.report["bytes"] > 0 and not client.complaints,
              f"another program of the host uses the same daemon {client.complaints}")
        check(listed == [["mrc-perf", "mrc-perf"]], f"and mrcctl lists both: {listed}")
        status, words = attempt(fabric, "h1", binary("mrc-perf"), "--port", "0",
                                MRC_EMBEDDED=fabric.config("h1"))
        check(status != 0 and "no daemon in this program: " in words and "is running already" in words,
              f"a second daemon of the instance is refused: {words.strip()}")


def check_refusals(fabric):
    for value, expected in (("yes", 'found "yes"; allowed are 1, which means /etc/mrc/mrcd.toml'),
                            ("/nowhere/mrcd.toml", "/nowhere/mrcd.toml")):
        status, words = attempt(fabric, "h0", binary("mrc-perf"), MRC_EMBEDDED=value)
        check(status != 0 and expected in words and "no daemon in this program" in words,
              f"MRC_EMBEDDED={value}: {words.strip()}")
    status, words = attempt(fabric, "h0", "setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all",
                            binary("mrc-perf"), MRC_EMBEDDED=fabric.config("h0"))
    check(status != 0 and "no daemon in this program" in words, f"without privilege: {words.strip()}")


def check_process(fabric):
    """What a program has of the daemon in it; and one that is set-user-ID has none, whatever its caller's variables."""
    for what in ("pipes", "handled-pipes", "forks"):
        status, words = attempt(fabric, "h0", binary("embedded_process_c"), what, MRC_EMBEDDED=fabric.config("h0"))
        check(status == 0, f"a program with the daemon inside and its {what} {words.strip()}")
    with public_folder() as folder:
        program = f"{folder}/embedded_process_c"
        shutil.copy(binary("embedded_process_c"), program)
        for mode, devices in ((0o755, 1), (0o4755, 0)):
            os.chmod(program, mode)
            as_user = ("setpriv", f"--reuid={NOBODY}", "--clear-groups", "--inh-caps=-all") if devices == 0 else ()
            done = subprocess.run(fabric.enter("h0", *as_user, program, "devices"), capture_output=True, text=True,
                                  check=False, timeout=DEADLINE_S,
                                  env={**os.environ, "MRC_EMBEDDED": fabric.config("h0")})
            check(done.returncode == 0 and done.stdout == f"{devices} devices\n" and not done.stderr,
                  f"mode {mode:o}: {done.stdout.strip()} {done.stderr.strip()}")


def attached(fabric, host):
    """XDP programs on the host's ports."""
    links = json.loads(fabric.inside(host, "ip", "-j", "-d", "link", "show"))
    return [link["ifname"] for link in links if link["ifname"].startswith("p") and "xdp" in link]


def check_ends(fabric):
    """Interrupted, the program takes the daemon down; killed, the next one begins anew."""
    for number in (signal.SIGINT, signal.SIGKILL, signal.SIGINT):
        with start_perf(fabric, "h1", "--json") as process:
            first = lines_of(process.stdout).next(time.monotonic() + DEADLINE_S)
            check(first is not None and first.startswith("LISTENING "), f"a server listens: {first}")
            check(len(attached(fabric, "h1")) == PLANES, "its daemon has the ports")
            process.send_signal(number)
            process.wait(DEADLINE_S)
        if number == signal.SIGINT:
            check(attached(fabric, "h1") == [], "after its end the ports are free")
            check(not os.path.exists(f"/run/mrc/{fabric.instance('h1')}/mrcd.sock"), "and the socket has gone")


def main():
    engine = sys.argv[1]
    need_root()
    need_binaries("mrc-perf", "mrc-switch", "mrcctl", "mrcd")
    with lab(f"embedded-{engine[0]}", "--planes", str(PLANES), "--engine", engine) as fabric:
        embedded = embedding_lab(fabric)
        check_transfers(embedded)
        check_plane_cut(embedded)
        check_neighbours(embedded)
        check_refusals(embedded)
        check_process(embedded)
        check_ends(embedded)
        prefix = fabric.prefix
    check(left_behind(prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
