# SPDX-License-Identifier: Apache-2.0
"""Impairments of links: what the user asked for, and which switch port makes it happen.

An XDP switch impairs what leaves by a port, a kernel switch what arrives at one (its own program runs before the
kernel forwards). So a host's link can be impaired toward the host on XDP switches and from it on kernel switches.
"""

import re
import subprocess

from . import namespaces, queues
from .errors import any_of, lab_error
from .processes import binary, is_alive, pin_of

PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?)%")
THRESHOLD = re.compile(r"off|\d+(\.\d+)?(%|[KM]B?)?(,\d+(\.\d+)?(%|[KM]B?)?)?", re.IGNORECASE)
TIME = re.compile(r"\d+(\.\d+)?(ns|us|ms)")
PERCENTAGES = ("loss", "corrupt", "duplicate")
NAMES = (*PERCENTAGES, "rate", "rtt", "ecn_threshold", "trim")
KERNEL_NAMES = ("loss", "corrupt", "rate")


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
        elif name == "rtt":
            allowed, good = "a time such as 100us", TIME.fullmatch(str(value))
        else:
            allowed = "MIN or MIN,MAX in bytes (64K) or % of the BDP (20%,80%), or off"
            good = THRESHOLD.fullmatch(str(value))
        if not good:
            raise lab_error(f"{where}: {name} is {value!r}; allowed: {allowed}")
        result[name] = value
    return result


def check_possible(fabric, values):
    """Kernel switches have no virtual queue and send no packet twice; bridges, routers and cables only carry."""
    if values and not fabric.has_switch_daemons:
        raise lab_error(f"a fabric of kind {fabric.options.fabric} impairs nothing; allowed: --fabric srv6")
    if fabric.is_kernel:
        for name in values:
            if name not in KERNEL_NAMES:
                raise lab_error(f"kernel switches cannot do {name.replace('_', '-')}; allowed: {any_of(KERNEL_NAMES)}")


def directions(fabric, link, toward=None):
    """The directions of a link that can be impaired, as the ports that send; only those toward a node if given."""
    kernel = fabric.is_kernel
    return [end for end in (link.lower, link.upper)
            if (end.peer if kernel else end).node in fabric.switches and toward in (None, end.peer.node)]


def key_of(sender):
    return f"{sender.node} {sender.peer.node}"


def apply_rates(directory, state, fabric, links):
    """On kernel switches a rate is a real queue, where the packets leave."""
    runner = namespaces.namespace_runner(directory)
    for port in _switch_ports(fabric, links):
        rate = state.impairments.get(key_of(port), {}).get("rate")
        runner.script(port.node, [queues.tc_command(port, fabric.options.mtu, rate)])


def apply_rows(state, fabric, links):
    """Brings the maps of the switches at these links to what the state says."""
    running = []
    for port in _switch_ports(fabric, links):
        if not is_alive(state.processes.get(port.node)):
            reason = "was not started" if port.node not in state.processes else "is not running"
            raise lab_error(f"mrc-switch of {port.node} {reason}, so nothing can be changed there")
    for port in _switch_ports(fabric, links):
        argv = [binary("mrc-switch"), "impair", "--pin", str(pin_of(state.prefix, port.node)), "--port", port.device,
                *_row_arguments(state, fabric, port)]
        running.append((port, subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                               stderr=subprocess.STDOUT, text=True)))
    failed = []
    for port, process in running:
        output, _ = process.communicate()
        if process.returncode != 0:
            failed.append(f"{port.node} {port.device}: {output.strip()}")
    if failed:
        raise lab_error("mrc-switch impair failed: " + "\n".join(failed))


def _switch_ports(fabric, links):
    return [end for link in links for end in (link.lower, link.upper) if end.node in fabric.switches]


def _row_arguments(state, fabric, port):
    """One port's whole row, so that an earlier failure cannot leave it half old."""
    kernel = fabric.is_kernel
    values = dict(state.impairments.get(key_of(port.peer if kernel else port), {}))
    cut = not kernel and state.is_cut(port.node, port.peer.node)
    arguments = ["--clear"]
    for name, value in values.items():
        if not (kernel and name == "rate"):
            text = value if name != "trim" else ("on" if value else "off")
            arguments += ["--" + name.replace("_", "-"), str(text)]
    return [*arguments, "--blackhole", "on" if cut else "off"]
