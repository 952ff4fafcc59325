#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A lab comes up quickly, two live side by side, commands find theirs, and nothing is left behind: after `down`,
after `kill -9` at any point of `up`, after an interrupt, and after a daemon that does not start."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from lab_support import DEADLINE_S, check, lab, left_behind, mrc_lab, need_root, start_until

KERNEL = ("--switch", "kernel", "--no-daemons")
WIDE = ("--planes", "8", "--leaves", "4", "--spines", "4", "--hosts", "8")  # slow enough to be caught half-made


def namespaces(prefix):
    try:
        return [name for name in os.listdir("/run/netns") if name.startswith(prefix + "-")]
    except FileNotFoundError:
        return []


def devices(prefix):
    """Devices of the last namespace that `up` configures, which tells how far it is."""
    shown = subprocess.run(["ip", "-n", f"{prefix}-h7", "-o", "link"], capture_output=True, text=True, check=False)
    return shown.stdout.count("\n")


def test_side_by_side():
    with lab("one", *KERNEL) as one, lab("two", *KERNEL, "--planes", "1", "--hosts", "3") as two:
        _, error = mrc_lab("status", status=1)
        check("several labs are running" in error, "with two labs, a command without --prefix asks which")
        found = json.loads(mrc_lab("status", "--json", env={"MRC_LAB": two.prefix})[0])
        check(found["prefix"] == two.prefix, "MRC_LAB chooses")
        check(len(one.status()["links"]) == 4 * (2 * 2 + 2), "the default lab has 24 links")
        check([host["leaf"] for host in two.status()["hosts"]] == [0, 1, 0], "hosts are spread over the leaves")
        check(two.status()["hosts"][2]["mrc_address"] == "fd6d:7263::2", "h2 is leaf 0, downlink 1")
        _, error = mrc_lab("up", "--prefix", one.prefix, *KERNEL, status=1)
        check("exists already" in error, "a second lab of one name is refused")
    for fabric in (one, two):
        check(left_behind(fabric.prefix) == [], f"down of {fabric.prefix} leaves nothing")
        check("nothing" in fabric.run("down")[0], "a second down finds nothing and says so")


def test_exec():
    with lab("exec", *KERNEL) as fabric:
        out, _ = fabric.run("exec", "h1", "--", "sh", "-c", "echo $MRC_INSTANCE; ls /sys/class/net | head -0; exit 7",
                            status=7)
        check(out == f"{fabric.prefix}-h1\n", "exec sets MRC_INSTANCE and returns the command's status")
        out, _ = fabric.run("exec", "p0t1-1", "--", "ip", "-o", "link", "show", "type", "veth")
        check(" d1@" in out and " d0@" in out, "exec reaches switches")
        _, error = fabric.run("exec", "h9", "--", "true", status=1)
        check("no node 'h9'" in error and "h0, h1" in error, "a wrong name is answered with the right ones")
        _, error = fabric.run("link", "h0", "p0t1-0", "down", status=1)
        check("not linked" in error and "p3t0-0" in error, "a link that is none is answered with the node's links")


def test_topology_file():
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "topology.toml"
        path.write_text('planes = 2\nmtu = 1500\nswitch = "kernel"\n[[host]]\nname = "h1"\nleaf = 0\ndownlink = 5\n')
        with lab("file", "--topology", str(path), "--no-daemons", "--mtu", "2000") as fabric:
            status = fabric.status()
            h1 = status["hosts"][1]
            check((status["planes"], status["mtu"]) == (2, 2000), "a flag wins over the topology file")
            check((h1["leaf"], h1["downlink"], h1["mrc_address"]) == (0, 5, "fd6d:7263::6"), "[[host]] places h1")
            route = fabric.inside("p1t0-0", "ip", "-6", "route", "show", "fcbb:bb00:8105::/48")
            check("dev d5" in route, "its leaf routes downlink 5 to it")
        for text, names in (
            ("plane = 2\n", ("unknown key 'plane'", "planes")),
            ("planes = 0\n", ("planes is 0", "1 to 8")),
            ('[[host]]\nname = "h1"\nleaf = 7\ndownlink = 0\n', ("leaf is 7", "0 to 1")),
            ('[[host]]\nname = "h1"\nleaf = 0\ndownlink = 0\n', ("h0 and h1 are both",)),
            ('[[impair]]\na = "h0"\nb = "p0t0-0"\nloss = "lots"\n', ("loss is 'lots'", "1%")),
            ("planes = \n", ("not TOML", "line 1")),
        ):
            path.write_text(text)
            _, error = mrc_lab("up", "--topology", str(path), *KERNEL, status=1)
            check(all(name in error for name in names), f"refused: {error.strip()}")


STAGES = {
    "its directory is there": lambda prefix: os.path.isdir(f"/run/mrc-lab/{prefix}"),
    "some namespaces are there": lambda prefix: len(namespaces(prefix)) >= 3,
    "half the namespaces are there": lambda prefix: len(namespaces(prefix)) >= 36,
    "all namespaces are there": lambda prefix: len(namespaces(prefix)) >= 72,
    "some links are there": lambda prefix: devices(prefix) >= 2,
    "all links are there": lambda prefix: devices(prefix) >= 9,
}


def test_killed_and_interrupted():
    for number, (stage, reached) in enumerate(STAGES.items()):
        for name, sent in (("killed", signal.SIGKILL), ("interrupted", signal.SIGINT)):
            prefix = f"dead{number}-{os.getpid()}"
            process = start_until(lambda: reached(prefix), "up", "--prefix", prefix, *KERNEL, *WIDE)
            caught = process.poll() is None
            process.send_signal(sent)
            _, error = process.communicate(timeout=DEADLINE_S)
            if sent == signal.SIGKILL or process.returncode != 1:
                mrc_lab("down", "--prefix", prefix)
            else:
                check("interrupted by SIGINT" in error, "an interrupted `up` says that it removed its lab")
            check(left_behind(prefix) == [], f"{name} when {stage}{'' if caught else ' (too late)'}: nothing is left")


def test_daemon_that_fails():
    with tempfile.TemporaryDirectory() as directory:
        for name in ("mrc-switch", "mrcd"):
            path = pathlib.Path(directory) / name
            path.write_text("#!/bin/sh\necho cannot attach to $3\nexit 3\n")
            path.chmod(0o755)
        prefix = f"fail-{os.getpid()}"
        _, error = mrc_lab("up", "--prefix", prefix, status=1, env={"MRC_BIN": directory})
        check("mrc-switch of p" in error and "status 3" in error and "| cannot attach to" in error,
              "a daemon that ends is named with its last lines")
        check(left_behind(prefix) == [], "and its lab is removed")
        _, error = mrc_lab("up", "--prefix", prefix, status=1, env={"MRC_BIN": "/nonexistent"})
        check("/nonexistent/mrc-switch is missing" in error, "a missing binary is named before anything is built")


def test_speed():
    prefix = f"fast-{os.getpid()}"
    started = time.monotonic()
    with lab("fast", *KERNEL):
        seconds = time.monotonic() - started
    check(seconds < 15, f"4 x (2 + 2) switches and 2 hosts are up in {seconds:.2f} s, limit 15 s")
    check(left_behind(prefix) == [], "and gone")


def main():
    need_root()
    test_speed()
    test_side_by_side()
    test_exec()
    test_topology_file()
    test_daemon_that_fails()
    test_killed_and_interrupted()


if __name__ == "__main__":
    main()
