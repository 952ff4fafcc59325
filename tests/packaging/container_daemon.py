#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcd as the manifest for Kubernetes starts it: with the network of its host, processes of its own, and the
capabilities that are named there. Programs of the host, whose processes it cannot see, use it."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from lab_support import DEADLINE_S, binary, check, lab, need_binaries, need_root
from transfer_support import transfer

MANIFEST = ROOT / "scripts/packaging/kubernetes.yaml"


def capabilities():
    documents = yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8"))
    daemons = next(document for document in documents if document["kind"] == "DaemonSet")
    return daemons["spec"]["template"]["spec"]["containers"][0]["securityContext"]["capabilities"]["add"]


def end(process):
    """unshare waits for the daemon, its child, whatever it is told."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for pid in children.read_text(encoding="ascii").split() if children.exists() else []:
        os.kill(int(pid), signal.SIGTERM)
    process.communicate(timeout=DEADLINE_S)


@contextlib.contextmanager
def contained(fabric, host):
    """The host's mrcd, ready."""
    bounding = ",".join(["-all", *("+" + name.lower() for name in capabilities())])
    argv = fabric.enter(host, "unshare", "--pid", "--ipc", "--uts", "--mount-proc", "--fork",
                        "setpriv", f"--bounding-set={bounding}", "--inh-caps=-all", "--no-new-privs",
                        binary("mrcd"), "--config", f"/run/mrc-lab/{fabric.prefix}/config/{host}.toml")
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if not process.stdout.readline().startswith("READY"):
            sys.exit(f"FAIL: mrcd of {host} is not ready: {process.communicate(timeout=DEADLINE_S)[1]}")
        yield process
    finally:
        end(process)


def main():
    need_root()
    need_binaries("mrcd", "mrc-perf")
    with (lab("contained", "--no-daemons", "--fabric", "direct", "--planes", "2", "--hosts", "2") as fabric,
          contained(fabric, "h0"), contained(fabric, "h1")):
        check(True, f"two daemons start with {', '.join(capabilities())}")
        for memory in ("shared", "process"):
            client, server, _ = transfer(fabric, "-n", "50", "-s", "64K", "--verify", "--memory", memory)
            check(client.status == 0 and client.report["verified"] and server["verified"],
                  f"verified bytes from and to memory that programs share or own: {memory} {client.complaints}")


if __name__ == "__main__":
    main()
