# SPDX-License-Identifier: Apache-2.0
"""`status`: the lab as one JSON object, and the same for reading."""

from . import namespaces, processes
from .errors import lab_error
from .fabrics import fabric
from .state import lab_directory


def describe(prefix):
    """Everything that a script or a measurement wants to know about a lab."""
    directory = lab_directory(prefix)
    state = directory.load()
    shape = fabric(state.options)
    options = state.options
    return {
        "prefix": prefix,
        "phase": state.phase,
        "fabric": options.fabric,
        "switch": options.switch if shape.has_switch_daemons else None,
        "mode": options.mode,
        "mtu": options.mtu,
        "planes": options.planes,
        "leaves": options.leaves,
        "spines": options.spines,
        "directory": str(directory.path),
        "hosts": [_host(directory, state, node) for node in shape.hosts.values()],
        "switches": [_switch(directory, state, shape, node) for node in shape.switches.values()],
        "links": [_link(state, link) for link in shape.links],
        "impairments": [_impairment(key, values) for key, values in state.impairments.items()],
    }


def _daemon(directory, state, name):
    record = state.processes.get(name)
    return {
        "pid": record and record["pid"],
        "alive": processes.is_alive(record),
        "config": str(directory.config(name)),
        "log": str(directory.log(name)) if record else None,
    }


def _host(directory, state, node):
    return {
        "name": node.name,
        "netns": namespaces.name_of(state.prefix, node.name),
        "mrc_address": node.mrc_address,
        "ipv4_address": node.ipv4_address,
        "plane_addresses": node.plane_addresses,
        "leaf": node.leaf,
        "downlink": node.downlink,
        "ports": [
            {"device": port.device, "plane": plane, "mac": port.mac, "gateway": port.peer.address}
            for plane, port in enumerate(node.ports)
        ],
        "instance": processes.instance_of(state.prefix, node.name),
        "socket": str(processes.socket_of(state.prefix, node.name)),
        **_daemon(directory, state, node.name),
    }


def _switch(directory, state, shape, node):
    return {
        "name": node.name,
        "netns": namespaces.name_of(state.prefix, node.name),
        "plane": node.plane,
        "tier": node.tier,
        "index": node.index,
        "usid": node.usid,
        "state": "down" if node.name in state.cut_switches else "up",
        "pin": str(processes.pin_of(state.prefix, node.name)),
        "ports": [
            {"device": port.device, "mac": port.mac, "peer": port.peer.node, "host_facing": shape.is_host_facing(port)}
            for port in node.ports
        ],
        **_daemon(directory, state, node.name),
    }


def _link(state, link):
    condition = "down" if state.is_cut(*link.names) else "up"
    if link.key in state.carrier_down:
        condition = "carrier-down"
    return {
        "a": link.lower.node,
        "b": link.upper.node,
        "a_dev": link.lower.device,
        "b_dev": link.upper.device,
        "state": condition,
    }


def _impairment(key, values):
    source, destination = key.split()
    return {"from": source, "to": destination, **values}


def summary(prefix):
    """The lines that `status` prints."""
    try:
        lab = describe(prefix)
    except lab_error as error:
        return [str(error)]
    lines = [f"lab {prefix}: {_shape(lab)}, MTU {lab['mtu']}" + (", still starting" if lab["phase"] != "up" else "")]
    for host in lab["hosts"]:
        shown = " ".join(filter(None, (host["mrc_address"], host["ipv4_address"])))
        lines.append(f"  {host['name']:<4} {shown:<20} leaf {host['leaf']}, "
                     f"downlink {host['downlink']}, mrcd {_condition(host)}")
    dead = [f"{node['name']} {_condition(node)}" for node in lab["switches"] if node["pid"] and not node["alive"]]
    lines += [f"  switch {line}" for line in dead]
    lines += [f"  switch {node['name']} is cut" for node in lab["switches"] if node["state"] == "down"]
    lines += [f"  link {link['a']} {link['b']} is {link['state']}" for link in lab["links"] if link["state"] != "up"]
    for entry in lab["impairments"]:
        values = ", ".join(f"{name} {value}" for name, value in entry.items() if name not in ("from", "to"))
        lines.append(f"  from {entry['from']} to {entry['to']}: {values}")
    return lines


def _shape(lab):
    clos = f"{lab['planes']} planes of {lab['leaves']} leaves and {lab['spines']} spines"
    return {"srv6": f"{clos}, {lab['switch']} switches",
            "router": f"{clos}, kernel routers",
            "bridge": f"{lab['planes']} planes, a bridge each",
            "direct": f"{lab['planes']} planes, a cable each"}[lab["fabric"]]


def _condition(node):
    if not node["pid"]:
        return "not started"
    return f"pid {node['pid']}" if node["alive"] else f"dead, see {node['log']}"
