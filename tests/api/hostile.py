#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile client on h0: whatever it does, both daemons go on, and a client beside it transfers without an error; in
the end nothing of it is left in the daemon. The sanitizers of the daemon (scripts/test: the tree of fuzzers) must be
silent.

hostile.py [ATTACK…]: only these; "ATTACK, own host" is one whose queue pairs both end on h0."""

import contextlib
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from lab_support import DEADLINE_S, binary, check, lab, left_behind, need_binaries, need_root
from transfer_support import wait_until

# attack: milliseconds, what the client beside it does
ATTACKS = {
    "noise": (4000, "anew"),
    "unread": (1500, "anew"),
    "rings": (6000, "anew"),
    "endless": (2000, "keep"),
    "wake_ups": (2000, "keep"),
    "memory": (3000, "anew"),
    "one_file": (1000, "keep"),
    "files": (0, "anew"),
    "descriptors": (2000, "keep"),
    "everything": (0, "keep"),
    "lingering": (0, "anew"),
    "neighbours": (0, "anew"),
    "storm": (2000, "keep"),
    "death": (3000, "anew"),
    "rings, own host": (2000, "anew"),
    "endless, own host": (1000, "keep"),
    "memory, own host": (1000, "anew"),
    "one_file, own host": (1000, "keep"),
    "neighbours, own host": (0, "anew"),
    "storm, own host": (2000, "keep"),
    "death, own host": (1000, "anew"),
}
OWN_HOST = ", own host"
SPARE_DESCRIPTORS = 200
LIMIT_S = 60
LOG_LINES = 60
SANITIZERS = ("ERROR: ", "runtime error:", "SUMMARY: ")


class daemon:
    """mrcd of one host, watched from outside."""

    def __init__(self, host):
        self.name, self.pid, self.log = host["name"], host["pid"], pathlib.Path(host["log"])
        self.at_rest = self.descriptors()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def complaints(self):
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return [line for line in lines if any(word in line for word in SANITIZERS)]

    def show(self):
        """What it says of its end, or of what it found."""
        if self.complaints() or not os.path.exists(f"/proc/{self.pid}/fd"):
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
            print(f"{self.name} says:", *lines, sep="\n  ", file=sys.stderr)

    def rests(self):
        """Every session has ended, and with it what it held. A region of process memory holds a descriptor, too."""
        return wait_until(lambda: self.descriptors() == self.at_rest, DEADLINE_S)

    def ends(self):
        """As a service manager ends it: what it leaks it says then."""
        process = os.pidfd_open(self.pid)
        os.kill(self.pid, signal.SIGTERM)
        poll = select.poll()
        poll.register(process, select.POLLIN)
        ended = bool(poll.poll(DEADLINE_S * 1000))
        os.close(process)
        return ended


@contextlib.contextmanager
def honest_client(environment, how):
    """The client that must not notice; it ends with status 0 only if all was right."""
    process = subprocess.Popen([binary("honest_client_c"), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment)
    try:
        check(process.stdout.readline() == b"READY\n", "the client beside it has connected")
        yield
        said = process.communicate(timeout=DEADLINE_S)[0]
        check(process.returncode == 0, f"the client beside it met no error: {said.decode().strip()}")
        check(json.loads(said)["messages"] > 0, "and transferred")
    finally:
        process.kill()
        process.wait()


def limit_descriptors(of, soft):
    """As the daemon's user: root without CAP_SYS_RESOURCE has no say in other users' limits."""
    status = pathlib.Path(f"/proc/{of.pid}/status").read_text(encoding="ascii")
    user, group = (re.search(rf"^{name}:\t(\d+)", status, re.M).group(1) for name in ("Uid", "Gid"))
    subprocess.run(["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups",
                    "prlimit", f"--pid={of.pid}", f"--nofile={soft}:"], check=True)


@contextlib.contextmanager
def few_descriptors(of):
    """Leaves the daemon a few more descriptors than it has now."""
    limits = pathlib.Path(f"/proc/{of.pid}/limits").read_text(encoding="ascii")
    before = re.search(r"^Max open files +(\d+)", limits, re.M).group(1)
    limit_descriptors(of, of.descriptors() + SPARE_DESCRIPTORS)
    try:
        yield
    finally:
        limit_descriptors(of, before)


@contextlib.contextmanager
def suppressed_checks():
    """UBSan's look at a vtable needs a pipe, of which there is none when descriptors have run out: it then finds every
    object wrong."""
    with tempfile.NamedTemporaryFile("w", suffix=".suppressions") as file:
        file.write("vptr:*\n")
        file.flush()
        os.environ["UBSAN_OPTIONS"] = f"suppressions={file.name}:print_stacktrace=1"
        yield


def attack(name, milliseconds, environment):
    seed = str(int.from_bytes(os.urandom(4), "little"))
    if name.endswith(OWN_HOST):
        attacked = environment["MRC_INSTANCE"].partition(",")[0]
        environment = {**environment, "MRC_INSTANCE": f"{attacked},{attacked}"}
    done = subprocess.run([binary("hostile"), name.removesuffix(OWN_HOST), seed, str(milliseconds)], check=False,
                          timeout=LIMIT_S, env=environment)
    check(done.returncode == 0, f"attack '{name}' with seed {seed} came to its end")


def run(name, daemons, environment):
    milliseconds, how = ATTACKS[name]
    with honest_client(environment, how):
        with few_descriptors(daemons[0]) if name == "descriptors" else contextlib.nullcontext():
            attack(name, milliseconds, environment)
    for one in daemons:
        complaints = one.complaints()
        check(os.path.exists(f"/proc/{one.pid}/fd") and not complaints, f"{one.name}: no complaint {complaints}")
        check(one.rests(), f"{one.name}: has as many descriptors as before, {one.at_rest}, not {one.descriptors()}")


def queue_pairs(fabric):
    shown = subprocess.run([binary("mrcctl"), "--instance", fabric.prefix + "-h0", "-j", "qp", "list"], check=False,
                           text=True, capture_output=True, timeout=DEADLINE_S)
    check(shown.returncode == 0, f"mrcctl lists queue pairs {shown.stderr}")
    return json.loads(shown.stdout)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl", "honest_client_c", "hostile")
    chosen = sys.argv[1:] or list(ATTACKS)
    with suppressed_checks(), lab("hostile", "--planes", "2", "--spines", "2") as fabric:
        environment = {**os.environ, "MRC_INSTANCE": f"{fabric.prefix}-h0,{fabric.prefix}-h1"}
        daemons = [daemon(host) for host in fabric.status()["hosts"]]
        try:
            for name in chosen:
                begin = time.monotonic()
                run(name, daemons, environment)
                print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
            check(queue_pairs(fabric) == [], "no queue pair is left")
            for one in daemons:
                check(one.rests() and one.ends(), f"{one.name} ends when it is told to")
                check(not one.complaints(), f"{one.name}: leaks nothing {one.complaints()}")
        except BaseException:
            for one in daemons:
                one.show()
            raise
    check(left_behind(fabric.prefix) == [], "nothing is left behind")


if __name__ == "__main__":
    main()
