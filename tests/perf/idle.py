#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Who has nothing to do takes no processor: daemons with three workers each after a transfer, and a program that has
such a daemon inside and waits for peers, likewise."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_embedded import embedding_lab  # noqa: E402
from lab_support import check, lab, need_binaries, need_root  # noqa: E402
from soak import check_idle  # noqa: E402
from transfer_support import run_client, server, transfer  # noqa: E402

WORKERS = 3


def check_transfer(fabric):
    client, _, status = transfer(fabric, "-s", "64K", "-n", "300", "-q", "8", "--bidir", "--verify")
    check(client.status == 0 and status == 0, f"a transfer both ways {client.complaints}")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf")
    with lab("idle", "--planes", "2", config=f"[worker]\nworkers = {WORKERS}\n") as fabric:
        for host in fabric.host_names():
            check(f"{WORKERS} workers on " in fabric.log(host), f"{host} has {WORKERS} workers")
        check_transfer(fabric)
        check_idle([fabric.host(name)["pid"] for name in fabric.host_names()])
        embedded = embedding_lab(fabric)
        with server(embedded) as (process, _):
            client = run_client(embedded, "-s", "64K", "-n", "300", "--verify")
            check(client.status == 0, f"a transfer to a program with the daemon inside {client.complaints}")
            check_idle([process.pid])


if __name__ == "__main__":
    main()
