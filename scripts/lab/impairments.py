# SPDX-License-Identifier: Apache-2.0
"""Cuts and impairments: what the user asked for, and what it comes to on each switch port.

A blackhole on a port is the sum of three wishes (the link is cut, this switch is cut, the switch at the other end
is cut), so each port's setting is always worked out anew from all of them: restoring a link does not revive it
while its switch is down.
"""

import re
import subprocess

from . import namespaces, queues
from .errors import any_of, lab_error
from .processes import binary, is_alive, pin_of

PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?)%")
AMOUNT = re.compile(r"\d+(\.\d+)?[A-Za-z%]*")
PERCENTAGES = ("loss", "corrupt", "duplicate")
NAMES = (*PERCENTAGES, "rate", "ecn_threshold", "trim")


def parse_impairment(where, values):
    """Checks one link's impairments; returns them with None left out."""
    result = {}
    for name, value in values.items():
        if name not in NAMES:
            raise lab_error(f"{where}: unknown impairment '{name}'; allowed: {any_of(NAMES)}")
        if value is None:
            continue
        if name == "trim":
            allowed, good = "true or false", isinstance(value, bool)
        elif name in PERCENTAGES:
            match = PERCENTAGE.fullmatch(str(value))
            allowed, good = "a percentage such as 1% or 0.1%, up to 100%", match and float(match.group(1)) <= 100
        elif name == "rate":
            allowed, good = "a number of kbit, Mbit or Gbit, such as 10Gbit", queues.bits_per_second(str(value))
        else:
            allowed, good = "a number with its unit, as mrc-switch takes it", AMOUNT.fullmatch(str(value))
        if not good:
            raise lab_error(f"{where}: {name} is {value!r}; allowed: {allowed}")
        result[name] = value
    return result


def switch_ends(fabric, link):
    """The ends of a link that are switch ports, where packets toward the other end can be impaired."""
    return [end for end in (link.lower, link.upper) if end.node in fabric.switches]


def link_key(link):
    return " ".join(link.names)


def is_blackholed(state, link):
    return link_key(link) in state.cut_links or any(name in state.cut_switches for name in link.names)


def require_switches(state, fabric, ports):
    """Every switch whose ports are to change must be running: its maps are where the change goes."""
    for port in ports:
        if not is_alive(state.processes.get(port.node)):
            reason = "was not started" if port.node not in state.processes else "is not running"
            hint = " (a link can be cut with --carrier)" if fabric.options.switch == "kernel" else ""
            raise lab_error(f"mrc-switch of {port.node} {reason}, so nothing can be impaired there{hint}")


def _arguments(values, blackholed):
    arguments = ["--clear"]
    for name, value in values.items():
        text = value if name != "trim" else ("on" if value else "off")
        arguments += ["--" + name.replace("_", "-"), str(text)]
    return [*arguments, "--blackhole", "on" if blackholed else "off"]


def apply_rates(directory, state, fabric, ends):
    """On kernel switches a rate is a real queue as well."""
    if fabric.options.switch != "kernel":
        return
    runner = namespaces.namespace_runner(directory)
    for end in ends:
        rate = state.impairments.get(end.key, {}).get("rate")
        runner.script(end.node, [queues.tc_command(end, fabric.options.mtu, rate)])


def apply(state, fabric, links):
    """Brings the switch ports of these links to what the state says."""
    commands = []
    for link in links:
        for end in switch_ends(fabric, link):
            argv = [binary("mrc-switch"), "impair", "--pin", str(pin_of(state.prefix, end.node)), "--port", end.device]
            commands.append((end, argv + _arguments(state.impairments.get(end.key, {}), is_blackholed(state, link))))
    running = [(end, subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)) for end, argv in commands]
    failed = []
    for end, process in running:
        output, _ = process.communicate()
        if process.returncode != 0:
            failed.append(f"{end.node} {end.device}: {output.strip()}")
    if failed:
        raise lab_error("mrc-switch impair failed: " + "\n".join(failed))
