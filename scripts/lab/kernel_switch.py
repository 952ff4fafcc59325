# SPDX-License-Identifier: Apache-2.0
"""A switch that is the kernel's own seg6local: the implementation of uSID forwarding that nobody here wrote.

`End` with next-csid on the own uSID shifts the carrier; static routes take the shifted address to the neighbour.
"""

from .usid_plan import USID_BITS, block_bits_of

# A seg6local route needs a device, and goes when that device goes down. An anchor of its own, a veth pair that
# leads nowhere, keeps the switch alive while its ports are taken down (not every kernel has the dummy device).
ANCHOR = "sid0"

# Before the main table, where the uSIDs are.
CUT_PRIORITY = 10


def route_command(route):
    return f"route replace {route.usid} via {route.via.peer.address} dev {route.via.device}"


def commands(node):
    """`ip` commands that turn a switch's namespace into a uSID switch."""
    return [
        f"link add name {ANCHOR} type veth peer name sid1",
        f"link set dev {ANCHOR} up",
        "link set dev sid1 up",
        f"route replace {node.usid} encap seg6local action End flavors next-csid lblen {block_bits_of(node.usid)} "
        f"nflen {USID_BITS} count dev {ANCHOR}",
    ]


def port_routes(node, port):
    """The routes that were lost with a port."""
    return [route_command(route) for route in node.routes if route.via.device == port.device]


def cut_commands(node, port, is_cut, is_host_facing):
    """Drops what arrives by a port, without a word to the sender; toward a host, where no switch follows that
    could do the same, also what would leave by it."""
    commands = [f"rule {'add' if is_cut else 'delete'} priority {CUT_PRIORITY} iif {port.device} blackhole"]
    for route in node.routes:
        if is_host_facing and route.via is port:
            commands.append(f"route replace blackhole {route.usid}" if is_cut else route_command(route))
    return commands
