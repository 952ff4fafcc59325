#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts with different numbers of ports, and planes of different speed, in an SRv6 fabric. h1 has no port on one plane
of three: transfers both ways are verified, h0 learns which planes reach it, and nothing else is sent to it any more. A
plane whose last link is much slower than the others keeps its share of the packets: load is equal on all planes, within
what the slowest carries."""

import contextlib
import os
import pathlib
import signal
import tomllib

from lab_support import DEADLINE_S, check, lab, need_binaries, need_root
from pinned_maps import host_maps
from transfer_support import transfer, wait_until

from lab import processes, toml_text
from lab.fabrics import fabric as fabric_of
from lab.state import lab_directory

PLANES = 3
MISSING = 2
SLOW, SLOW_RATE = 1, "100Mbit"
MESSAGES = ("-n", "300", "-s", "64K", "--verify")


def take_port_away(fabric, host, plane):
    """Its mrcd starts again with a configuration that has no [[port]] on this plane."""
    with lab_directory(fabric.prefix) as directory:
        state = directory.load()
        file = pathlib.Path(directory.config(host))
        config = tomllib.loads(file.read_text("utf-8"))
        config["port"] = [port for port in config["port"] if port["plane"] != plane]
        file.write_text(toml_text.render(config), encoding="utf-8")
        record = state.processes[host]
        with contextlib.suppress(ProcessLookupError):
            os.kill(record["pid"], signal.SIGTERM)
        check(wait_until(lambda: not processes.is_alive(record), DEADLINE_S), f"{host}'s mrcd has ended")
        processes.start_daemons(directory, state, fabric_of(state.options), [host])


def check_fewer_ports(fabric):
    take_port_away(fabric, "h1", MISSING)
    address = fabric.host("h1")["mrc_address"]
    client, *_ = transfer(fabric, *MESSAGES, "--bidir")
    check(client.status == 0 and client.report["verified"] is True,
          f"h1 has ports on {PLANES - 1} planes of {PLANES}: every byte is right, both ways {client.complaints}")
    maps = host_maps(f"{fabric.prefix}-h0")
    check(wait_until(lambda: maps.peer(address)["plane_mask"] == 0b011, DEADLINE_S), "h0 knows which planes reach it")
    client, *_ = transfer(fabric, *MESSAGES)
    planes = client.report["plane_tx_packets"]
    check(client.status == 0 and planes[MISSING] == 0 and min(planes[:MISSING]) > 0,
          f"and sends nothing on the other: {planes}")


def check_equal_load(fabric):
    leaf = f"p{SLOW}t0-{fabric.host('h1')['leaf']}"
    fabric.run("impair", leaf, "h1", "--rate", SLOW_RATE, "--trim")
    client, report, _ = transfer(fabric, *MESSAGES)
    planes = client.report["plane_tx_packets"]
    check(client.status == 0 and report["verified"] is True, "a plane is slow: every byte is right")
    check(max(planes) < 2 * planes[SLOW], f"and it has its share of the packets: {planes}")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    with lab("mixed", "--planes", str(PLANES), "--spines", "1") as fabric:
        check_equal_load(fabric)
        check_fewer_ports(fabric)


if __name__ == "__main__":
    main()
