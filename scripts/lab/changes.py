# SPDX-License-Identifier: Apache-2.0
"""`link`, `switch`, `plane` and `impair`: what changes in a running lab."""

import contextlib

from . import impairments, kernel_switch, namespaces
from .errors import lab_error
from .life import require_root
from .state import choose_prefix, lab_directory
from .topology import fabric


@contextlib.contextmanager
def changing(prefix):
    """The lab, locked; what was changed of its state is kept when the change worked."""
    require_root()
    prefix = choose_prefix(prefix)
    with lab_directory(prefix) as directory:
        if not directory.lock():
            raise lab_error(f"lab {prefix} is gone")
        state = directory.load()
        yield directory, state, fabric(state.options)
        directory.save(state)


def _put(names, name, present):
    """Puts a name into a list or takes it out; returns whether that changed anything."""
    if (name in names) == present:
        return False
    if present:
        names.append(name)
    else:
        names.remove(name)
    return True


def set_link(prefix, a, b, is_up, carrier):
    """Cuts a link in the switches, or with `carrier` takes it down; up undoes both."""
    with changing(prefix) as (directory, state, shape):
        link = shape.link(a, b)
        key = impairments.link_key(link)
        if is_up or carrier:
            if _put(state.carrier_down, key, not is_up):
                _set_carrier(directory, state, shape, link, is_up)
        if is_up or not carrier:
            if _put(state.cut_links, key, not is_up):
                _apply(state, shape, [link])


def _set_carrier(directory, state, shape, link, is_up):
    """Takes down the upper end, so that the lower one, a host's or leaf's port, sees its carrier go."""
    port = link.upper
    commands = [f"link set dev {port.device} down"]
    if is_up:
        commands = namespaces.port_commands(port)
        if state.options.switch == "kernel":
            commands += kernel_switch.port_routes(shape.switch(port.node), port)
    namespaces.namespace_runner(directory).script(port.node, namespaces.ip_lines(commands))


def set_switches(prefix, choose, is_up):
    """Cuts or restores the switches that choose(fabric) returns; a restored switch keeps its cut links cut."""
    with changing(prefix) as (_, state, shape):
        changed = {node.name for node in choose(shape) if _put(state.cut_switches, node.name, not is_up)}
        _apply(state, shape, [link for link in shape.links if changed & set(link.names)])


def impair(prefix, a, b, values, clear, one_way):
    """Impairs what switches send on a link: both ways, or only from a toward b."""
    with changing(prefix) as (directory, state, shape):
        link = shape.link(a, b)
        ends = [end for end in impairments.switch_ends(shape, link) if not one_way or end.node == a]
        if not ends:
            raise lab_error(f"{a} is a host: packets are impaired in the switches, that is from {b} to {a}")
        for end in ends:
            kept = {} if clear else state.impairments.get(end.key, {})
            merged = {**kept, **values}
            if merged:
                state.impairments[end.key] = merged
            else:
                state.impairments.pop(end.key, None)
        _apply(state, shape, [link])
        impairments.apply_rates(directory, state, shape, ends)


def _apply(state, shape, links):
    impairments.require_switches(state, shape, [end for link in links for end in impairments.switch_ends(shape, link)])
    impairments.apply(state, shape, links)
