# SPDX-License-Identifier: Apache-2.0
"""XDP programs on devices of a network namespace that nobody else knows: what fills the places of the kernel's XDP
dispatcher, and what has it rebuilt again and again. bpf(2) by hand, for a program of two instructions.

Run as a program, it prints READY and obeys one letter on standard input:

xdp_places.py fill    holds as many programs attached as the dispatcher has places; f: detaches them
xdp_places.py storm   attaches and detaches one program until its standard input ends
"""

import ctypes
import os
import subprocess
import sys
import threading

BPF_PROG_LOAD, BPF_LINK_CREATE = 5, 28
BPF_PROG_TYPE_XDP, BPF_XDP = 6, 37
XDP_FLAGS_SKB_MODE = 2
CLONE_NEWNET = 0x40000000
SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
PASS = bytes((0xB7, 0, 0, 0, 2, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0))  # r0 = XDP_PASS; exit
PLACES = 48  # the kernel's BPF_DISPATCHER_MAX
LIBC = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    result = LIBC.syscall(SYS_BPF, command, attributes, len(attributes))
    if result < 0:
        sys.exit(f"FAIL: bpf({command}): {os.strerror(ctypes.get_errno())}")
    return result


def load_program():
    """A new one each time: only programs that differ take places of their own."""
    code, licence = ctypes.create_string_buffer(PASS, len(PASS)), ctypes.create_string_buffer(b"GPL")
    fields = (ctypes.c_uint32 * 2)(BPF_PROG_TYPE_XDP, len(PASS) // 8)
    addresses = (ctypes.c_uint64 * 2)(ctypes.addressof(code), ctypes.addressof(licence))
    return bpf(BPF_PROG_LOAD, (bytes(fields) + bytes(addresses)).ljust(72, b"\0"))


def attach(program, ifindex):
    """Until the descriptor that this returns is closed."""
    fields = (ctypes.c_uint32 * 4)(program, ifindex, BPF_XDP, XDP_FLAGS_SKB_MODE)
    return bpf(BPF_LINK_CREATE, bytes(fields).ljust(48, b"\0"))


def fill():
    commands = "".join(f"link add a{number} index {1000 + number} type veth peer name b{number} index {2000 + number}\n"
                       for number in range(PLACES))
    subprocess.run(["ip", "-batch", "-"], input=commands, text=True, check=True)
    links = [attach(load_program(), 1000 + number) for number in range(PLACES)]
    print("READY", flush=True)
    if sys.stdin.read(1) == "f":
        for link in links:
            os.close(link)
        print("FREE", flush=True)
        sys.stdin.read()


def storm():
    program, loopback = load_program(), 1
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    print("READY", flush=True)
    while not over.is_set():
        os.close(attach(program, loopback))


if __name__ == "__main__":
    if LIBC.unshare(CLONE_NEWNET) != 0:
        sys.exit(f"FAIL: unshare: {os.strerror(ctypes.get_errno())}")
    {"fill": fill, "storm": storm}[sys.argv[1]]()
