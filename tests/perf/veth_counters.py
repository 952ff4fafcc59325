# SPDX-License-Identifier: Apache-2.0
"""What the kernel counts on the veth devices of a network namespace, read in place: no process per device."""

import array
import collections
import ctypes
import fcntl
import socket
import struct
import threading

CLONE_NEWNET = 0x40000000
SIOCETHTOOL = 0x8946
ETHTOOL_GSTRINGS, ETHTOOL_GSTATS, ETHTOOL_GSSET_INFO = 0x1B, 0x1D, 0x37
ETH_SS_STATS = 1
NAME_BYTES = 32


def ethtool(control, device, command):
    """One SIOCETHTOOL call; returns what the kernel made of `command`."""
    buffer = array.array("B", command)
    address, _ = buffer.buffer_info()
    fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP16x", device.encode(), address))
    return buffer.tobytes()


def statistics(control, device):
    """ethtool -S."""
    found = ethtool(control, device, struct.pack("=IIQI", ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_STATS, 0))
    count, = struct.unpack_from("=I", found, 16)
    head = struct.pack("=III", ETHTOOL_GSTRINGS, ETH_SS_STATS, count)
    names = ethtool(control, device, head + bytes(count * NAME_BYTES))[len(head):]
    values = ethtool(control, device, struct.pack("=II", ETHTOOL_GSTATS, count) + bytes(count * 8))
    return {names[i * NAME_BYTES:(i + 1) * NAME_BYTES].rstrip(b"\0").decode(): value
            for i, value in enumerate(struct.unpack_from(f"={count}Q", values, 8))}


def read_devices(devices):
    counters = {}
    with open("/proc/thread-self/net/dev", encoding="ascii") as table, \
            socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
        rows = {name.strip(): values.split() for name, _, values in (line.partition(":") for line in table)}
        for device in devices:
            queues = collections.Counter()
            for name, value in statistics(control, device).items():
                if name.startswith("rx_queue_"):
                    queues[name.split("_", 3)[-1]] += value
            counters[device] = {
                "veth: no room at the peer": int(rows[device][11]),  # transmit: drop
                "veth: receive": queues["drops"],
                "foreign": queues["xdp_packets"] - queues["xdp_redirect"] - queues["xdp_drops"] - queues["xdp_tx"],
            }
    return counters


def veth_counters(namespace, devices):
    """By device: frames dropped on the way to the peer and by the receive side, and frames that XDP left alone."""
    result = []

    def enter_and_read():
        with open(f"/run/netns/{namespace}", encoding="ascii") as target:
            if ctypes.CDLL(None, use_errno=True).setns(target.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
        result.append(read_devices(devices))
    thread = threading.Thread(target=enter_and_read)
    thread.start()
    thread.join()
    return result[0]
