# SPDX-License-Identifier: Apache-2.0
"""The TOML configurations that the lab writes for mrc-switch and mrcd."""

from . import addresses
from .processes import instance_of, pin_of


def _quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def switch_config(prefix, fabric, node):
    options = fabric.options
    lines = [
        f"name = {_quoted(node.name)}",
        f"usid = {_quoted(addresses.usid_prefix(node.usid))}",
        f"forward = {_quoted(options.switch)}",
        f"pin = {_quoted(pin_of(prefix, node.name))}",
        f"mode = {_quoted(options.mode)}",
    ]
    for port in node.ports:
        facing = "true" if fabric.is_host_facing(port) else "false"
        lines += ["", "[[port]]", f"device = {_quoted(port.device)}", f"host_facing = {facing}"]
    for route in node.routes:
        lines += [
            "",
            "[[route]]",
            f"usid = {_quoted(addresses.usid_prefix(route.usid))}",
            f"port = {_quoted(route.via.device)}",
            f"mac = {_quoted(route.via.peer.mac)}",
        ]
    return "\n".join(lines) + "\n"


def host_config(prefix, fabric, node):
    options = fabric.options
    lines = [
        "[daemon]",
        f"instance = {_quoted(instance_of(prefix, node.name))}",
        "",
        "[host]",
        f"address = {_quoted(node.mrc_address)}",
        f"leaf = {node.leaf}",
        f"downlink = {node.downlink}",
        "",
        "[fabric]",
        f"usid_block = {_quoted(addresses.USID_BLOCK)}",
        f"planes = {options.planes}",
        f"leaves = {options.leaves}",
        f"uplinks = {options.spines}",
        f"hosts_per_leaf = {-(-options.hosts // options.leaves)}",
        f"address_prefix = {_quoted(addresses.MRC_PREFIX)}",
    ]
    if options.ipv4:
        lines.append(f"ipv4_prefix = {_quoted(addresses.IPV4_PREFIX)}")
    for plane, port in enumerate(node.ports):
        lines += [
            "",
            "[[port]]",
            f"device = {_quoted(port.device)}",
            f"plane = {plane}",
            f"gateway = {_quoted(port.peer.address)}",
            f"mode = {_quoted(options.host_mode)}",
        ]
    lines += ["", "[transmit]", f"engine = {_quoted(options.engine)}"]
    text = "\n".join(lines) + "\n"
    return text + ("\n" + options.extra_config if options.extra_config else "")


def write_configs(directory, fabric):
    for node in fabric.switches.values():
        text = switch_config(directory.prefix, fabric, node)
        directory.config(node.name).write_text(text, encoding="utf-8")
    for node in fabric.hosts.values():
        text = host_config(directory.prefix, fabric, node)
        directory.config(node.name).write_text(text, encoding="utf-8")
