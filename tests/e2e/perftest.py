#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's perftest, unchanged, on virtual devices: `LD_PRELOAD=libmrc.so.1 ib_write_bw`. It knows nothing of MRC: its
queue pairs are of verbs' type RC. Both ends find each other by the loopback of h0; their packets go over the lab."""

import contextlib
import json
import os
import shutil
import subprocess
import sys

from lab_support import DEBUG_LOG, ROOT, binary, check, lab, left_behind, need_binaries, need_root, skip
from transfer_support import wait_until

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from lab.processes import instance_of  # noqa: E402

LIBRARY = os.path.join(os.path.dirname(binary("")), "../lib/libmrc.so.1")
GID_INDEX = "3"  # the host's address; 0 and 1 are link-local
PORT = "18515"
LIMIT_S = 100
PLANES, CUT_PLANE = 2, 1
RETRY_EXCEEDED = "Failed status 12"  # IBV_WC_RETRY_EXC_ERR
SIZES = 23  # powers of two from 2 to 8 MB
KINDS = ("bw", "lat")


def start(fabric, host, program, *arguments):
    env = {**os.environ, "LD_PRELOAD": LIBRARY, "MRC_INSTANCE": instance_of(fabric.prefix, host)}
    return subprocess.Popen(fabric.enter("h0", program, "-x", GID_INDEX, "-p", PORT, *arguments), env=env, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def listens(fabric):
    return fabric.inside("h0", "ss", "-Hltn", f"sport = {PORT}") != ""


@contextlib.contextmanager
def both(fabric, *command, client="h1"):
    """The server on h0's device and the client on another host's, or on the same, which are ended if they have not."""
    processes = [start(fabric, "h0", *command)]
    try:
        wait_until(lambda: listens(fabric) or processes[0].poll() is not None, LIMIT_S)
        processes.append(start(fabric, client, *command, "127.0.0.1"))
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.communicate()


def results(processes):
    """Size and count of the client's lines of figures, once both have ended well. On a busy machine figures fill their
    columns and run into each other."""
    said = [process.communicate(timeout=LIMIT_S)[0] for process in reversed(processes)]
    for process, text in zip(reversed(processes), said):
        if process.returncode != 0:
            sys.exit(f"FAIL: status {process.returncode}: {text}")
    lines = [line.split() for line in said[0].splitlines()]
    return [[int(word) for word in words[:2]] for words in lines
            if len(words) > 2 and all(word.isdigit() for word in words[:2])]


def told(fabric, host, *command):
    """What the host's mrcctl says."""
    return json.loads(fabric.inside(host, binary("mrcctl"), "--instance", instance_of(fabric.prefix, host), "-j",
                                    *command))


def packets(fabric, host):
    """What each of the host's ports has sent."""
    return [port["tx_packets"] for port in told(fabric, host, "port", "list")]


def counter(fabric, host, verdict):
    return told(fabric, host, "counters")["verdicts"][verdict]


def sweep(fabric):
    for kind in KINDS:
        with both(fabric, f"ib_write_{kind}", "-a", "-n", "10") as processes:
            figures = results(processes)
        sizes = [line[0] for line in figures]
        check(sizes == [2 ** power for power in range(1, SIZES + 1)],
              f"ib_write_{kind} -a: every size from 2 bytes to 8 MB: {sizes}")


def one_host(fabric):
    """Both programs on one device: no port sends anything, not even when the server is killed. Few round trips: both
    ends of ib_write_lat and the daemon want a core each; a busy machine of two makes each hop wait for a time slice."""
    before = packets(fabric, "h0")
    with both(fabric, "ib_write_bw", "-a", "-n", "10", client="h0") as processes:
        check(len(results(processes)) == SIZES, "ib_write_bw -a within one host")
    with both(fabric, "ib_write_lat", "-s", "64", "-n", "10", client="h0") as processes:
        check([line[:2] for line in results(processes)] == [[64, 10]], "ib_write_lat within one host")
    with both(fabric, "ib_write_bw", "-b", "-q", "16", "-s", "65536", "-n", "50", client="h0") as processes:
        check([line[:2] for line in results(processes)] == [[65536, 16 * 50]], "ib_write_bw -b -q 16")
    with both(fabric, "ib_write_bw", "-s", "65536", "-n", "1000000", client="h0") as processes:
        moved = counter(fabric, "h0", "agent_local")
        check(wait_until(lambda: counter(fabric, "h0", "agent_local") > moved + 1000, LIMIT_S), "bytes flow")
        processes[0].kill()
        said = processes[1].communicate(timeout=LIMIT_S)[0]
        check(processes[1].returncode != 0 and "Completion with error" in said, "the client ends with its killed peer")
    check(packets(fabric, "h0") == before, "no port has sent anything")


def many_queue_pairs(fabric):
    with both(fabric, "ib_write_bw", "-q", "16", "-s", "65536", "-n", "50") as processes:
        check([line[:2] for line in results(processes)] == [[65536, 16 * 50]], "ib_write_bw -q 16")


def bidirectional(fabric):
    before = [packets(fabric, host) for host in ("h0", "h1")]
    with both(fabric, "ib_write_bw", "-b", "-s", "65536", "-n", "200") as processes:
        check([line[:2] for line in results(processes)] == [[65536, 200]], "ib_write_bw -b")
    for host, then in zip(("h0", "h1"), before):
        sent = [now - was for now, was in zip(packets(fabric, host), then)]
        least = 200 * 65536 / 4096 / len(sent) / 4
        check(min(sent) > least, f"{host} has sent over all planes: {sent}")


def outage(fabric):
    before = sum(packets(fabric, "h1"))
    with both(fabric, "ib_write_bw", "-s", "65536", "-n", "6000") as processes:
        wait_until(lambda: sum(packets(fabric, "h1")) > before + 1000, LIMIT_S)
        fabric.run("plane", str(CUT_PLANE), "down")
        check(processes[1].poll() is None, "a plane is cut while ib_write_bw runs")
        check([line[:2] for line in results(processes)] == [[65536, 6000]], "it ends as if nothing had been")
    check(CUT_PLANE in {plane for plane, _ in fabric.retirements("h1")}, "mrcd has seen the cut")
    fabric.run("plane", str(CUT_PLANE), "up")


def dead_peer(fabric):
    """The far program is killed: the daemons tell each other, and perftest ends by an error of verbs."""
    before = sum(packets(fabric, "h1"))
    with both(fabric, "ib_write_bw", "-s", "65536", "-n", "1000000") as processes:
        wait_until(lambda: sum(packets(fabric, "h1")) > before + 1000, LIMIT_S)
        processes[0].kill()
        said = processes[1].communicate(timeout=LIMIT_S)[0]
        check(processes[1].returncode != 0 and "Completion with error" in said, "the client ends with its killed peer")


def dead_network(fabric):
    """Nothing gets through any more: after perftest's own time-out, 8 times 67 ms, MRC gives the peer up."""
    before = sum(packets(fabric, "h1"))
    with both(fabric, "ib_write_bw", "-s", "65536", "-n", "1000000") as processes:
        wait_until(lambda: sum(packets(fabric, "h1")) > before + 1000, LIMIT_S)
        for plane in range(PLANES):
            fabric.run("plane", str(plane), "down")
        said = processes[1].communicate(timeout=LIMIT_S)[0]
        check(processes[1].returncode != 0 and RETRY_EXCEEDED in said, "the client gives up a peer that is silent")
    for plane in range(PLANES):
        fabric.run("plane", str(plane), "up")


def refusals(fabric):
    """What MRC does not have fails as on a device without it."""
    for program, words in (("ib_send_bw", "Couldn't post send"), ("ib_read_bw", "Couldn't post send")):
        with both(fabric, program, "-n", "10") as processes:
            said = processes[1].communicate(timeout=LIMIT_S)[0]
            check(processes[1].returncode != 0 and words in said, f"{program}: '{words}'")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl")
    if shutil.which("ib_write_bw") is None:
        skip("perftest is not installed")
    with lab("perftest", "--planes", str(PLANES), config=DEBUG_LOG) as fabric:
        for case in (one_host, sweep, many_queue_pairs, bidirectional, outage, dead_peer, dead_network, refusals):
            case(fabric)
        check(all(host["alive"] for host in fabric.status()["hosts"]), "both daemons live on")
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
