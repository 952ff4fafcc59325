# SPDX-License-Identifier: Apache-2.0
"""Requests and answers over one TCP connection, one at a time: what a message of MRC's is to be compared with, for its
completion tells that it has arrived."""

import json
import subprocess
import sys

from lab_support import binary

from .programs import inside, size_of

PORT = "18600"


def exchanges(request, answer, *options, to=None, wrapper=()):
    """A run of mrc-bench-tcp from h0 to h1, by default to its MRC address: requests of one size ("64K"), answers of
    another. Latencies are half a round trip."""
    def run(at, seconds):
        where = (to or at.fabric.host("h1")["mrc_address"], "--port", PORT)
        server = at.fabric.enter("h1", *wrapper, binary("mrc-bench-tcp"), "serve", *where)
        with subprocess.Popen(server, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as listening:
            try:
                if listening.stdout.readline() != "LISTENING\n":
                    sys.exit(f"FAIL: mrc-bench-tcp does not serve: {listening.stderr.read()}")
                report = json.loads(inside(at.fabric, "h0", *wrapper, binary("mrc-bench-tcp"), "exchange", *where,
                                           "--request", str(size_of(request)), "--answer", str(size_of(answer)),
                                           "--seconds", str(seconds), *options))
            finally:
                listening.kill()
        moved = report["exchanges"] * report["request_bytes"]
        return {f"{name}_us": value / 2 for name, value in report["round_trip_us"].items()} | {
            "gbps": moved * 8e-9 / report["seconds"], "mps": report["exchanges"] / report["seconds"] / 1e6,
            "bytes": moved}
    return run
