#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A stranger to mrcctl setup: sends by a device, until it is stopped, datagrams that are nearly hellos, and a hello
that has passed a router. Says SENDING once the first have left."""

import os
import socket
import sys

HELLO_PORT, GROUP = 4972, "ff12::6d72:63"
PAUSE_S = 0.05


def hello(name):
    """As agent/tools/setup/hello.h lists it: of a host 7 that hears nobody."""
    return (b"MRCH" + bytes([1, 0, 1, len(name)]) + (7).to_bytes(8, "big") + (1).to_bytes(8, "big") + bytes(8) +
            bytes(2) + name)


def sender(ifindex, hops):
    made = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, hops)
    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, ifindex)
    made.settimeout(PAUSE_S)
    return made, (GROUP, HELLO_PORT, 0, ifindex)


def send_round(near, far, to):
    right = hello(b"mallory")
    for cut in range(len(right)):
        near.sendto(right[:cut], to)
    for wrong in (right + b"\0", hello(b"mallory\x1b[31m"), os.urandom(200), os.urandom(1400)):
        near.sendto(wrong, to)
    far.sendto(right, to)


def main():
    ifindex = socket.if_nametoindex(sys.argv[1])
    near, to = sender(ifindex, 255)
    far, _ = sender(ifindex, 64)
    is_sending = False
    while True:
        try:
            send_round(near, far, to)
            if not is_sending:
                print("SENDING", flush=True)
            is_sending = True
        except OSError:  # its address is not its own yet
            pass
        try:
            near.recv(1)  # nobody answers: the pause
        except OSError:
            pass


if __name__ == "__main__":
    main()
