# SPDX-License-Identifier: Apache-2.0
"""The TOML configurations that the lab writes for mrc-switch and mrcd."""

import pwd

from . import toml_text
from .processes import instance_of, pin_of
from .state import ROOT


def daemon_user():
    """The user that the lab's mrcd become: mrc as on any host, else one that every system has; none: root."""
    existing = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("mrc", "daemon") if name in existing), "root")


def switch_config(prefix, fabric, node):
    options = fabric.options
    return {
        "name": node.name,
        "usid": node.usid,
        "forward": options.switch,
        "pin": str(pin_of(prefix, node.name)),
        "share": str(pin_of(prefix, "entry")),
        "mode": options.mode,
        "port": [{"device": port.device, "host_facing": fabric.is_host_facing(port)} for port in node.ports],
        "route": [{"usid": route.usid, "port": route.via.device, "mac": route.via.peer.mac}
                  for route in node.routes],
    }


def host_config(prefix, fabric, node):
    """What the lab knows of a host, with the user's own configuration in it."""
    options = fabric.options
    written = {
        "daemon": {"instance": instance_of(prefix, node.name), "user": daemon_user(),
                   "state_dir": str(ROOT / prefix / "settings" / node.name)},
        **fabric.host_tables(node),
        "transmit": {"engine": options.engine},
    }
    return merged(written, options.extra_config)


def merged(base, extra):
    """Both, key by key; where both have a value, that of `extra`. A [[port]] adds to the one of the same device."""
    result = dict(base)
    for key, value in extra.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            result[key] = merged(base[key], value)
        elif key == "port" and isinstance(value, list):
            result[key] = _merged_ports(base.get(key, []), value)
        else:
            result[key] = value
    return result


def _merged_ports(base, extra):
    ports = [dict(port) for port in base]
    by_device = {port["device"]: port for port in ports}
    for entry in extra:
        known = by_device.get(entry.get("device")) if isinstance(entry, dict) else None
        if known is None:
            ports.append(entry)
        else:
            known.update(entry)
    return ports


def write_configs(directory, fabric):
    switches = fabric.switches if fabric.has_switch_daemons else {}
    for nodes, config in ((switches, switch_config), (fabric.hosts, host_config)):
        for node in nodes.values():
            text = toml_text.render(config(directory.prefix, fabric, node))
            directory.config(node.name).write_text(text, encoding="utf-8")
