#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's fi_info and fi_pingpong by libmrc-fi, unchanged, on two hosts of a lab, one case a run: what is listed;
messages of all sizes by endpoints of the provider itself, and by those of ofi_rxm above it, every byte checked; the
same while a plane is cut; a far end that is killed."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from lab_support import DEADLINE_S, ROOT, binary, check, lab, left_behind, need_binaries, need_root, skip
from rank_processes import ranks
from transfer_support import wait_until

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from lab.processes import instance_of  # noqa: E402

LIBRARIES = os.path.abspath(os.path.join(os.path.dirname(binary("")), "../lib"))
PROVIDERS = {"FI_PROVIDER_PATH": LIBRARIES, "FI_LOG_LEVEL": "warn", "FI_LOG_PROV": "mrc"}
SIZES = ("64", "256", "1k", "4k", "64k", "1m")
CUT_PLANE = 1
ROUNDS, CUT_ROUNDS, ENDLESS_ROUNDS = 20, 100, 1000000
CONTROL_PORT = 47592  # fi_pingpong's
GONE = ("its process has ended, or failed", "it has closed the connection", "its memory cannot be written")


class pingpong(ranks):
    """The server on h0, the client on h1."""

    def __init__(self, fabric, folder, provider, kind, rounds, *options):
        words = ["fi_pingpong", "-p", provider, "-e", kind, "-c", "-I", str(rounds), *options]
        client = ["bash", "-c", 'read -r && exec "$@"', "client", *words, fabric.host("h0")["ipv4_address"]]
        super().__init__(fabric, folder, [(words, PROVIDERS), (client, PROVIDERS)])
        check(wait_until(lambda: fabric.inside("h0", "ss", "-Hltn", f"sport = :{CONTROL_PORT}"), DEADLINE_S),
              "the server listens")
        self.processes[1].stdin.write(b"\n")
        self.processes[1].stdin.flush()

    def check_sizes(self, rounds):
        self.all_succeed()
        for rank in range(2):
            done = dict(re.findall(r"^(\S+) +\d+ +=(\d+) ", self.said(rank), re.M))
            check(done == dict.fromkeys(SIZES, str(rounds)), f"rank {rank}: {rounds} rounds of {', '.join(SIZES)}, "
                  "every byte right")


@contextlib.contextmanager
def running(*what):
    with tempfile.TemporaryDirectory() as folder:
        started = pingpong(*what[:1], folder, *what[1:])
        try:
            yield started
        finally:
            started.end()


# Packets of a connection's set-up are fewer. Until messages go, fi_pingpong waits for the other end by TCP of its own.
TO_BEGIN = 100


def queue_pairs(fabric, host):
    done = subprocess.run([binary("mrcctl"), "qp", "list", "-j", "--instance", instance_of(fabric.prefix, host)],
                          text=True, capture_output=True, check=True)
    return json.loads(done.stdout)


def packets(fabric):
    """Sent to the far end by h1's queue pairs."""
    return sum(pair["tx_packets"] for pair in queue_pairs(fabric, "h1"))


def check_nothing_is_left(fabric):
    check(wait_until(lambda: not any(queue_pairs(fabric, host) for host in ("h0", "h1")), DEADLINE_S),
          "no queue pair is left")


def info(fabric):
    env = {**os.environ, **PROVIDERS, "MRC_INSTANCE": instance_of(fabric.prefix, "h0")}

    def listed(provider, **more):
        return subprocess.run(fabric.enter("h0", "fi_info", "-p", provider), text=True, capture_output=True,
                              env={**env, **more}, check=False)
    said = listed("mrc").stdout
    check(re.search(r"^provider: mrc\n    fabric: MRC\n    domain: mrc0\n    version: 1\.0\n    type: FI_EP_MSG", said,
                    re.M), "fi_info lists the provider")
    said = listed("mrc;ofi_rxm").stdout
    check("type: FI_EP_RDM" in said and "FI_EP_MSG" not in said, "and ofi_rxm above it")
    none = listed("mrc", MRC_INSTANCE="nobody", FI_LOG_LEVEL="info")
    check(none.returncode != 0 and not none.stdout and "cannot reach mrcd" in none.stderr,
          "without mrcd it says why there is none")


def messages(fabric):
    with running(fabric, "mrc", "msg", ROUNDS) as both:
        both.check_sizes(ROUNDS)
    check_nothing_is_left(fabric)


def reliable(fabric):
    with running(fabric, "mrc;ofi_rxm", "rdm", ROUNDS) as both:
        both.check_sizes(ROUNDS)
    check_nothing_is_left(fabric)


def cut(fabric):
    with running(fabric, "mrc", "msg", CUT_ROUNDS, "-S", "1048576") as both:
        check(wait_until(lambda: packets(fabric) > TO_BEGIN, DEADLINE_S), "it runs")
        fabric.run("plane", str(CUT_PLANE), "down")
        check(all(one.poll() is None for one in both.processes), f"plane {CUT_PLANE} is cut in the middle")
        both.all_succeed()
        check(all(f"={CUT_ROUNDS} " in both.said(rank) for rank in range(2)), f"{CUT_ROUNDS} rounds, every byte right")
    check_nothing_is_left(fabric)


def killed(fabric):
    with running(fabric, "mrc", "msg", ENDLESS_ROUNDS, "-S", "4096") as both:
        check(wait_until(lambda: packets(fabric) > TO_BEGIN, DEADLINE_S), "it runs")
        both.processes[0].kill()
        both.processes[0].wait()
        check(wait_until(lambda: both.processes[1].poll() is not None, DEADLINE_S) and both.processes[1].poll() != 0,
              "the other end fails, and does not hang")
        said = both.said(1)
        check(any(reason in said for reason in GONE), f"it says why: {said}")
    check_nothing_is_left(fabric)


CASES = {"info": info, "messages": messages, "reliable": reliable, "cut": cut, "killed": killed}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: libfabric_programs.py CASE; cases: {', '.join(CASES)}")
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl")
    if not os.path.exists(os.path.join(LIBRARIES, "libmrc-fi.so")) or shutil.which("fi_pingpong") is None:
        skip("libmrc-fi is not built, or libfabric-bin not installed (scripts/setup --test)")
    with lab("fi", "--planes", "2", "--hosts", "2", "--ipv4") as fabric:
        CASES[sys.argv[1]](fabric)
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
