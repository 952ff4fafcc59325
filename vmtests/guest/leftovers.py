# SPDX-License-Identifier: Apache-2.0
"""What a suite may leave behind in a machine that others use after it."""

import ctypes
import os
import pathlib
import subprocess

from lab.wait_until import wait_until

# The kernel frees programs, links and namespaces some time after their last user.
SETTLE_SECONDS = 20
LIBC = ctypes.CDLL(None, use_errno=True)
BPF_SYSCALL = 321  # of x86-64
GET_NEXT_ID = {"prog": 11, "map": 12, "link": 31}  # commands of bpf(2)
FOLDERS = ("/run/netns", "/run/mrc", "/run/mrc-lab", "/sys/fs/bpf")


def _files():
    return {f"file {path}/{name}" for folder in FOLDERS for path, _, names in os.walk(folder) for name in names}


def _devices():
    return {f"network device {name}" for name in os.listdir("/sys/class/net")}


def _processes():
    """Those with a program; the kernel's own have no command line. A process of this suite runner's is none."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            if command and int(entry.name) != os.getpid():
                found.add(f"process {entry.name}: {command[:120]}")
    return found


def _bpf(kind, command):
    """Ids of all objects of a kind. bpftool could list them, but loads programs of its own for that."""
    found, request = set(), (ctypes.c_uint32 * 3)()  # start_id, next_id, open_flags of union bpf_attr
    while LIBC.syscall(BPF_SYSCALL, command, request, ctypes.sizeof(request)) == 0:
        found.add(f"BPF {kind} {request[1]}")
        request[0] = request[1]
    return found


def state():
    bpf = set().union(*(_bpf(kind, command) for kind, command in GET_NEXT_ID.items()))
    return bpf | _files() | _devices() | _processes()


def _described(one):
    """With its name, when it is a BPF object."""
    words = one.split()
    if words[0] != "BPF":
        return one
    shown = subprocess.run(["bpftool", words[1], "show", "id", words[2]], capture_output=True, text=True, check=False)
    return (shown.stdout.splitlines() or [one])[0]


def left(before):
    """What is there now and was not before, once the kernel had time to clean up."""
    now = []

    def is_clean():
        now[:] = sorted(state() - before)
        return not now

    wait_until(is_clean, SETTLE_SECONDS, 0.2)
    # systemd has programs on the control groups of its units, and loads them anew when it reads the units again.
    return [text for text in map(_described, now) if " name sd_" not in text]
