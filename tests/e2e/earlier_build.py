#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Libraries and daemons of two builds that speak the same version of the session: programs with an earlier libmrc on
this mrcd, and programs with this libmrc on an earlier mrcd move verified bytes. The earlier one is built from the
history, in build/earlier. e2e.session_versions has the layouts alone, and needs no build."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile

from lab_support import DEADLINE_S, ROOT, binary, check, lab, need_binaries, need_root, skip

# The first with session version 4, which libmrc and mrcd still speak. A release, once there is one.
EARLIER = "1548919"
BUILD = pathlib.Path(ROOT) / "build/earlier"
TARGETS = ("mrcd", "mrc-perf", "mrc-switch")
MOST_BUILD_S = 1800


def run(*command, **options):
    done = subprocess.run(command, text=True, capture_output=True, check=False, **options)
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-4000:]
        sys.exit(f"FAIL: {' '.join(map(str, command))}: status {done.returncode}\n{said}")
    return done.stdout


def earlier_tree():
    """Where the earlier one stands, built: a folder with its scripts, and its programs in build/bin."""
    git = ("git", "-c", f"safe.directory={ROOT}", "-C", ROOT)
    if subprocess.run([*git, "cat-file", "-e", f"{EARLIER}^{{commit}}"], capture_output=True, check=False).returncode:
        skip(f"this copy of the sources has no commit {EARLIER} to build")
    tree = BUILD / EARLIER
    if not tree.exists():
        tree.mkdir(parents=True)
        with subprocess.Popen([*git, "archive", EARLIER], stdout=subprocess.PIPE) as archive:
            with tarfile.open(fileobj=archive.stdout, mode="r|") as files:
                files.extractall(tree, filter="data")
    run("cmake", "--preset", "release", "-DMRC_TESTS=OFF", cwd=tree)
    run("cmake", "--build", "build", "--target", *TARGETS, cwd=tree, timeout=MOST_BUILD_S)
    return tree


@contextlib.contextmanager
def earlier_lab(tree):
    """A lab of the earlier mrcd, by its own scripts."""
    prefix = f"earlier-{os.getpid()}"
    command, env = str(tree / "scripts/mrc-lab"), {**os.environ, "MRC_BIN": str(tree / "build/bin")}
    try:
        run(command, "up", "--prefix", prefix, "--planes", "2", "--spines", "1", env=env)
        yield prefix, json.loads(run(command, "status", "--prefix", prefix, "--json", env=env))["hosts"]
    finally:
        run(command, "down", "--prefix", prefix, env=env)


def transfer(program, prefix, hosts):
    """From the first host to the second, verified."""
    near, far = hosts

    def start(host, *arguments):
        return subprocess.Popen(["nsenter", f"--net=/run/netns/{prefix}-{host['name']}", "--", program, *arguments],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "MRC_INSTANCE": host["instance"]})

    server = start(far, "--once", "--json")
    if not server.stdout.readline().startswith("LISTENING "):
        sys.exit(f"FAIL: {program} does not listen: {server.stderr.read()}")
    client = start(near, far["mrc_address"], "--json", "--verify", "-n", "2000", "-s", "64K")
    out, complaints = client.communicate(timeout=4 * DEADLINE_S)
    check(client.returncode == 0, f"the client ends well {complaints[-300:]}")
    received = json.loads(server.communicate(timeout=DEADLINE_S)[0].splitlines()[-1])
    report = json.loads(out)
    check(report["verified"] is True and received["verified"] is True, "every byte is right")
    check(min(report["plane_rx_packets"][:2]) > 0, f"by both planes: {report['plane_rx_packets'][:2]}")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    tree = earlier_tree()
    with lab("new", "--planes", "2", "--spines", "1") as fabric:
        print("an earlier libmrc and this mrcd:")
        transfer(str(tree / "build/bin/mrc-perf"), fabric.prefix, fabric.status()["hosts"])
    with earlier_lab(tree) as (prefix, hosts):
        print("this libmrc and an earlier mrcd:")
        transfer(binary("mrc-perf"), prefix, hosts)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    main()
