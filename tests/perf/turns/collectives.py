# SPDX-License-Identifier: Apache-2.0
"""Runs of Gloo's collectives, a rank on each host of a lab, by one transport."""

import tempfile

from . import labs
from .collective_ranks import collective_ranks

OPERATIONS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast")
SIZES = {"8": 320, "64K": 96, "4M": 8}  # with how many of each
RANKS = (2, 4)


def _figures(started):
    try:
        one, = started.report()["rows"]
    finally:
        started.end()
    return {"latency_us": one["latency_us"]["median"], "gbps": one["gbps"]}


def _run(at, operation, size, master, transport, **how):
    with tempfile.TemporaryDirectory() as folder:
        return _figures(collective_ranks(at.fabric, folder, len(at.fabric.host_names()), master, "--operations",
                                         operation, "--sizes", size, "--iterations", str(SIZES[size]), "--transport",
                                         transport, **how))


def by_mrc(operation, size):
    def run(at, _seconds):
        return _run(at, operation, size, at.fabric.host("h0")["mrc_address"], "mrc")
    return run


def by_overlay(operation, size):
    """Gloo's TCP between MRC addresses."""
    def run(at, _seconds):
        return _run(at, operation, size, at.fabric.host("h0")["mrc_address"], "tcp",
                    where=lambda _: ("--interface", "mrcnet0"))
    return run


def by_tcp(operation, size, wrapper=()):
    """Gloo's TCP on the first plane, or with mptcpize from there on all."""
    def run(at, _seconds):
        return _run(at, operation, size, labs.plane_address(0, 0), "tcp", wrapper=wrapper,
                    where=lambda host: ("--address", labs.plane_address(0, host)))
    return run
