# SPDX-License-Identifier: Apache-2.0
"""Hosts that push and pop by the kernel alone, so that a fabric can be tried without any agent."""


def usid(role, plane, index):
    return f"{role << 12 | plane << 8 | index:x}"


def set_up_hosts(fabric):
    """Gives every host its common address, kernel decapsulation of its uSIDs, and its leaves."""
    hosts = fabric.status()["hosts"]
    for host in hosts:
        commands = [f"ip address add {host['mrc_address']}/128 dev lo"]
        for port in host["ports"]:
            device = port["device"]
            own = f"fcbb:bb00:{usid(8, port['plane'], host['downlink'])}::/48"
            leaf = f"fcbb:bb00:{usid(2, port['plane'], host['leaf'])}::/48"
            commands += [
                # A plain End.DT6 in the main table does not fire for a packet that came as transit.
                f"ip -6 rule add priority 50 to {own} lookup 100",
                f"ip -6 route add {own} table 100 encap seg6local action End.DT6 table 255 dev {device}",
                f"ip -6 route add {leaf} via {port['gateway']} dev {device}",
            ]
        fabric.inside(host["name"], "sh", "-ec", "\n".join(commands))
    return {host["name"]: host for host in hosts}


def use_path(fabric, source, destination, plane, spine):
    """All packets from one host to another host's common address take this path; spine None: both on one leaf."""
    usids = [usid(2, plane, source["leaf"])]
    if spine is not None:
        usids += [usid(1, plane, spine), usid(2, plane, destination["leaf"])]
    usids.append(usid(8, plane, destination["downlink"]))
    fabric.inside(source["name"], "ip", "-6", "route", "replace", destination["mrc_address"], "encap", "seg6", "mode",
                  "encap.red", "segs", f"fcbb:bb00:{':'.join(usids)}::", "dev", f"p{plane}")


def use_path_both_ways(fabric, a, b, plane, spine):
    use_path(fabric, a, b, plane, spine)
    use_path(fabric, b, a, plane, spine)
