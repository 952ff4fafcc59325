# SPDX-License-Identifier: Apache-2.0
"""`link`, `switch`, `plane` and `impair`: what changes in a running lab."""

import contextlib

from . import impairments, namespaces
from .errors import lab_error
from .fabrics import fabric
from .lifecycle import require_root
from .state import choose_prefix, lab_directory


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
        if link.is_cable:
            raise lab_error(f"{a} and {b} are linked on each plane; take one down with: plane N down")
        if (is_up or carrier) and _put(state.carrier_down, link.key, not is_up):
            _set_carrier(directory, shape, link, is_up)
        if is_up or not carrier:
            with _cutting(directory, state, shape):
                _put(state.cut_links, link.key, not is_up)


def _set_carrier(directory, shape, link, is_up):
    """Takes down the upper end, so that the lower one, a host's or leaf's port, sees its carrier go; the lower one
    when the other is on another machine."""
    port = link.upper if link.upper.node in shape.nodes else link.lower
    lines = shape.port_lines(port) if is_up else namespaces.ip_lines([f"link set dev {port.device} down"])
    namespaces.namespace_runner(directory).script(port.node, lines)


def set_plane(prefix, number, is_up):
    """Cuts or restores every switch of a plane; a plane that is a cable loses its carrier, or has it again."""
    with changing(prefix) as (directory, state, shape):
        shape.check_plane(number)
        with _cutting(directory, state, shape):
            for node in shape.plane_switches(number):
                _put(state.cut_switches, node.name, not is_up)
        for link in shape.plane_cables(number):
            if _put(state.carrier_down, link.key, not is_up):
                _set_carrier(directory, shape, link, is_up)


def set_switches(prefix, choose, is_up):
    """Cuts or restores the switches that choose(fabric) returns; a restored switch keeps its cut links cut."""
    with changing(prefix) as (directory, state, shape):
        with _cutting(directory, state, shape):
            for node in choose(shape):
                _put(state.cut_switches, node.name, not is_up)


@contextlib.contextmanager
def _cutting(directory, state, shape):
    """Makes the switches follow when the body changes which links are cut."""
    before = [state.is_cut(*link.names) for link in shape.links]
    yield
    changed = [link for link, was_cut in zip(shape.links, before) if state.is_cut(*link.names) != was_cut]
    if not shape.is_kernel:
        impairments.apply_rows(state, shape, changed)
        return
    lines = {}
    for link in changed:
        for end in (link.lower, link.upper):
            if end.node in shape.switches:
                lines.setdefault(end.node, []).extend(shape.cut_lines(end, state.is_cut(*link.names)))
    namespaces.namespace_runner(directory).scripts(lines)


def impair(prefix, a, b, values, clear, one_way):
    """Impairs a link, both ways as far as its switches can, or only from a toward b."""
    with changing(prefix) as (directory, state, shape):
        link = shape.link(a, b)
        impairments.check_possible(shape, values)
        senders = impairments.directions(shape, link, b if one_way else None)
        if not senders:
            raise lab_error(f"packets from {a} to {b} cannot be impaired by {state.options.switch} switches, "
                            f"those from {b} to {a} can")
        for sender in senders:
            key = impairments.key_of(sender)
            merged = {**({} if clear else state.impairments.get(key, {})), **values}
            state.impairments.pop(key, None)
            if merged:
                state.impairments[key] = merged
        impairments.apply_rows(state, shape, [link])
        if shape.is_kernel:
            impairments.apply_rates(directory, state, shape, [link])
