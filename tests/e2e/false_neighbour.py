#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A stranger on a link: DEVICE MAC ADDRESS CLAIMED. Tells the host of this MAC and IPv6 address, until it is stopped,
that the neighbour CLAIMED has this device's MAC address, asked or not (RFC 4861 section 4.4). Says SENDING once it has
begun, and on SIGTERM how many MRC packets have come to it."""

import ipaddress
import signal
import socket
import struct
import sys

PAUSE_S = 0.02
IPV6, UDP, ICMPV6 = 0x86dd, 17, 58
ADVERTISEMENT, TARGET_LINK_ADDRESS = 136, 2
UNASKED, ASKED = 0x20000000, 0x60000000  # both override what is known
MRC_PORT = 4791


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def advertisement(own, mac, address, claimed, flags):
    body = struct.pack("!BBHI", ADVERTISEMENT, 0, 0, flags) + claimed + bytes([TARGET_LINK_ADDRESS, 1]) + own
    pseudo = claimed + address + struct.pack("!I3xB", len(body), ICMPV6)
    body = body[:2] + struct.pack("!H", checksum(pseudo + body)) + body[4:]
    return (mac + own + struct.pack("!H", IPV6) + struct.pack("!IHBB", 6 << 28, len(body), ICMPV6, 255) + claimed +
            address + body)


def is_mrc(frame, own):
    return (frame[:6] == own and frame[12:14] == IPV6.to_bytes(2, "big") and frame[20] == UDP and
            frame[56:58] == MRC_PORT.to_bytes(2, "big"))


def main():
    device, mac, address, claimed = sys.argv[1:]
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    link.bind((device, 0))
    link.settimeout(PAUSE_S)
    own = link.getsockname()[4]
    frames = [advertisement(own, bytes.fromhex(mac.replace(":", "")), ipaddress.ip_address(address).packed,
                            ipaddress.ip_address(claimed).packed, flags) for flags in (UNASKED, ASKED)]
    came = 0

    def end(*_):
        print(came, flush=True)
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    is_sending = False
    while True:
        for frame in frames:
            link.send(frame)
        if not is_sending:
            print("SENDING", flush=True)
        is_sending = True
        try:
            came += is_mrc(link.recv(64), own)
        except TimeoutError:  # the pause
            pass


if __name__ == "__main__":
    main()
