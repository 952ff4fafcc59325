# SPDX-License-Identifier: Apache-2.0
"""The lab's addresses: MRC addresses in one prefix, link-local ones, deterministic MACs. uSIDs are in usid_plan.py."""

import ipaddress

MRC_PREFIX = "fd6d:7263::/32"
IPV4_PREFIX = "10.128.0.0/12"  # of labs that are asked for IPv4

# A link's lower end has FABRIC_LOWER, its upper end (and so a host's gateway) has FABRIC_UPPER. Link-local
# addresses may repeat on every link, which keeps them out of the topology.
FABRIC_UPPER = "fe80::1"
FABRIC_LOWER = "fe80::2"


def mrc_address(leaf, downlink, plane=None):
    """A host's common MRC address, or with a plane the one that this plane's outer headers carry."""
    selector = 0 if plane is None else plane + 1
    return str(ipaddress.IPv6Address(f"fd6d:7263:0:{selector:x}:0:0:{leaf:x}:{downlink + 1:x}"))


def ipv4_address(leaf, downlink):
    """The common MRC address in IPv4."""
    prefix = ipaddress.IPv4Network(IPV4_PREFIX).network_address
    return str(prefix + (leaf << 9 | downlink + 1))


def plain_address(plane, network, host, ipv4=False):
    """An address on a plane that is an ordinary network, or one of many behind routers."""
    if ipv4:
        return str(ipaddress.IPv4Address("10.64.0.0") + (plane << 16 | network << 6 | host))
    return str(ipaddress.IPv6Address(f"fd10:{plane:x}:{network >> 16:x}:{network & 0xffff:x}::{host:x}"))


def plane_prefix(plane, ipv4=False):
    """Of all networks of a plane."""
    return f"10.{64 + plane}.0.0/16" if ipv4 else f"fd10:{plane:x}::/32"


def mac(kind, plane, index, port):
    """A locally administered MAC address that is the same in every run and in every lab."""
    return f"02:{kind:02x}:{plane:02x}:{index >> 8:02x}:{index & 0xff:02x}:{port:02x}"


HOST_PORT = 0x80
LEAF_DOWN = 0x20
LEAF_UP = 0x21
SPINE_DOWN = 0x10
