#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcd started at once after a kill: while the kernel still holds the killed one's XDP program on a port, it waits, and
says so; not for ever, though."""

import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import tempfile

from lab_support import DEADLINE_S, binary, check, lab, need_binaries, need_root
from transfer_support import wait_until

PIDFD_GETFD = 438  # the same on all architectures


def links_of(pid):
    """The numbers of the process's descriptors of BPF links."""
    found = []
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if "bpf_link" in os.readlink(entry) or "bpf-link" in os.readlink(entry):
                found.append(int(entry.name))
    return found


def borrow(pid, numbers):
    """The same open files in this process: as long as they're open, the kernel keeps the links."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(pid)
    try:
        return [libc.syscall(PIDFD_GETFD, process, number, 0) for number in numbers]
    finally:
        os.close(process)


@contextlib.contextmanager
def started(running, config):
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(running.enter("h0", binary("mrcd"), "--config", config), stdout=log, stderr=log)
        try:
            yield process, lambda: os.pread(log.fileno(), 1 << 20, 0).decode()
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def kill_but_keep_links(running, config):
    """Open links of an mrcd that has been killed."""
    with started(running, config) as (process, said):
        check(wait_until(lambda: "READY" in said(), DEADLINE_S), "mrcd runs")
        links = borrow(process.pid, links_of(process.pid))
        check(len(links) >= 2 and min(links) >= 0, f"{len(links)} of its links are held on to")
        process.send_signal(signal.SIGKILL)
        process.wait()
    return links


def release(links):
    for link in links:
        os.close(link)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch")
    with lab("restart", "--no-daemons", "--planes", "2", "--leaves", "1", "--spines", "1", "--hosts", "1") as running:
        config = f"/run/mrc-lab/{running.prefix}/config/h0.toml"
        links = kill_but_keep_links(running, config)
        with started(running, config) as (process, said):
            check(wait_until(lambda: "waiting" in said() or process.poll() is not None, DEADLINE_S)
                  and "port p0: waiting for native program 'host_rx'" in said(), f"the next one waits: {said()}")
            release(links)
            check(wait_until(lambda: "READY" in said() or process.poll() is not None, DEADLINE_S)
                  and "READY" in said(), f"and starts once they are gone: {said()}")
        links = kill_but_keep_links(running, config)
        with started(running, config) as (process, said):
            check(process.wait(DEADLINE_S) == 1 and "another XDP program is attached" in said(),
                  f"while they stay, it gives up: {said()}")
        release(links)


if __name__ == "__main__":
    main()
