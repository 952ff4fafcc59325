#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""EVs that a controller lists or generates, expanded by the fields of their profile: the packets of a queue pair take
the paths that they name, and those only (tests/api/ev_expansion.c)."""

import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_support import binary, check, lab, left_behind, need_binaries, need_root
from transfer_support import DEADLINE_S, lines_of, wait_until

DATA_PACKETS = (4 << 20) // 4096  # of a message, at least


def packet_ev(entropy, uplink, plane):
    """What the fields make of an EV: 21 bits of entropy, 8 of the uplink, 3 of the plane."""
    return entropy << 11 | uplink << 3 | plane


class program:
    """ev_expansion, which stops after each step."""

    def __init__(self, fabric, name):
        self.fabric = fabric
        self.process = subprocess.Popen(
            [binary(name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "MRC_INSTANCE": f"{fabric.prefix}-h0,{fabric.prefix}-h1"})
        self.said = lines_of(self.process.stdout)

    def paths_after(self, step, evs, state_of_first="good"):
        """Packets sent and state of each path whose EV is one of these, once the program has come so far. mrcd shows
        states a moment after they have changed."""
        said = self.said.next(time.monotonic() + DEADLINE_S)
        check(said == step, f"step: {said}")
        shown = wait_until(lambda: self.paths(evs).get(evs[0], (0, ""))[1] == state_of_first, DEADLINE_S)
        check(shown, f"the first of the paths is {state_of_first}")
        return self.paths(evs)

    def paths(self, evs):
        listed = subprocess.run([binary("mrcctl"), "--instance", f"{self.fabric.prefix}-h0", "-j", "path", "list"],
                                text=True, capture_output=True, check=True).stdout
        return {path["ev"]: (path["tx_packets"], path["state"]) for path in json.loads(listed) if path["ev"] in evs}

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def end(self):
        status = self.process.wait(DEADLINE_S)
        check(status == 0, "the program succeeds")


def run(fabric, name):
    one = program(fabric, name)
    evs = [packet_ev(1, 1, plane) for plane in (0, 1)]
    try:
        listed = one.paths_after("listed", evs)
        check(sorted(listed) == evs, f"two paths have the listed EVs, expanded: {listed}")
        check(sum(sent for sent, _ in listed.values()) >= DATA_PACKETS, "they carry the message")
        check(all(sent > DATA_PACKETS // 8 for sent, _ in listed.values()), "both of them")
        one.go_on()
        before = one.paths_after("denied", evs, "denied")
        one.go_on()
        after = one.paths_after("without", evs, "denied")
        check(after[evs[0]][0] == before[evs[0]][0], "no packet takes it any more")
        check(after[evs[1]][0] - before[evs[1]][0] >= DATA_PACKETS, "the other carries all")
        one.go_on()
        again = one.paths_after("again", evs)
        check(again[evs[0]][0] > after[evs[0]][0], "permitted, it carries again")
        one.go_on()
        all_evs = [packet_ev(2, uplink, plane) for uplink in (0, 1) for plane in (0, 1)]
        generated = one.paths_after("generated", all_evs)
        check(sorted(generated) == sorted(all_evs), f"four paths have the generated EVs: {generated}")
        check(sum(sent for sent, _ in generated.values()) >= DATA_PACKETS, "they carry the message")
        one.go_on()
        one.end()
    finally:
        one.process.kill()
        one.process.wait()


def main():
    need_root()
    name = sys.argv[1]
    need_binaries("mrcd", "mrc-switch", "mrcctl", name)
    with lab("ev-expansion", "--planes", "2", "--spines", "2") as fabric:
        run(fabric, name)
        check(all(host["alive"] for host in fabric.status()["hosts"]), "both daemons live on")
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
