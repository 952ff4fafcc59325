#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two hosts of a fabric of 131,072, of which the lab has built what is between them: peers and paths have rows while
they are in use, a connection takes the spines that fabric.paths leaves it, and a thousand peers follow each other
through tables with room for forty."""

import json
import os
import subprocess

from lab_support import DEADLINE_S, binary, check, lab, need_binaries, need_root
from pinned_maps import bpftool, host_maps, used_paths
from transfer_support import wait_until

PLANES, SPINES, PATHS = 2, 4, 2
PEERS, LEAVES_AT_ONCE = 40, 16
ADDRESSES = PLANES + 1
CONFIG = f"""[fabric]
leaves = 512
hosts_per_leaf = 256
paths = {PATHS}
[tables]
peers = {PEERS}
paths = {LEAVES_AT_ONCE * PLANES * PATHS}
"""


class end:
    """What one host's maps hold."""

    def __init__(self, running, host):
        self.instance = f"{running.prefix}-{host}"
        self.maps = host_maps(self.instance)

    def peers(self):
        return len(bpftool("dump", "pinned", f"{self.maps.pins}/peers"))

    def paths(self):
        return used_paths(self.maps.rows("paths"))

    def is_empty(self):
        return self.peers() == 0 and not self.paths()

    def listed(self):
        done = subprocess.run([binary("mrcctl"), "--instance", self.instance, "-j", "path", "list"],
                              capture_output=True, check=True)
        return {path["path"] for path in json.loads(done.stdout)}


def check_moved(here):
    """Of a connection that has moved its messages; the uplinks that it takes, by plane."""
    paths, signals = here.paths(), here.maps.rows("signals")
    check(here.peers() == ADDRESSES and len(paths) == PLANES * PATHS, "one peer, and its paths, have rows")
    check(here.listed() == set(paths), "mrcctl lists the same")
    check(all(row["tx_packets"] > 0 for row in paths.values()), "each carries packets")
    check(all(signals[number]["packets"] > 0 for number in paths), "each way")
    check(signals[0]["packets"] == 0, "none came on an unknown path")
    return sorted((row["plane"], row["uplink"]) for row in paths.values())


def go_on(process):
    process.stdin.write(b"\n")
    process.stdin.flush()


def walk(process, near, far):
    check(process.stdout.readline() == b"MOVED\n", "messages cross a large fabric")
    uplinks = check_moved(near)
    check(check_moved(far) == uplinks, f"both ways by the same spines {uplinks}")
    go_on(process)
    check(process.stdout.readline() == b"CONNECTED\n", f"a thousand peers one by one, {PEERS} at once, and no more")
    check(near.peers() == PEERS * ADDRESSES, "those in use have rows")
    check(len(near.paths()) == PLANES * PATHS, "and the paths to their leaf")
    check(wait_until(far.is_empty, DEADLINE_S), "the far end's rows are gone, which nobody uses")
    go_on(process)
    check(process.stdout.readline() == b"DISCONNECTED\n", "all are disconnected")
    check(wait_until(near.is_empty, DEADLINE_S), "and nobody has rows any more")
    go_on(process)
    check(process.wait(DEADLINE_S) == 0, "the program is content")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl", "many_peers_c")
    with lab("large-fabric", "--planes", str(PLANES), "--spines", str(SPINES), config=CONFIG) as running:
        near, far = end(running, "h0"), end(running, "h1")
        check(near.is_empty() and far.is_empty(), "nobody is in use at first")
        process = subprocess.Popen([binary("many_peers_c"), str(PEERS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env={**os.environ, "MRC_INSTANCE": f"{near.instance},{far.instance}"})
        try:
            walk(process, near, far)
        finally:
            process.kill()
            process.wait()
        check(all(host["alive"] for host in running.status()["hosts"]), "both daemons live on")


if __name__ == "__main__":
    main()
