# SPDX-License-Identifier: Apache-2.0
"""`up` and `down`: a lab's life cycle. A lab whose `up` fails or is interrupted removes itself."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time

from . import config_files, impairments, namespaces, processes, programs
from .errors import lab_error
from .state import lab_directory, lab_state, running_prefixes
from .fabrics import fabric

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class interrupted(Exception):
    """A signal asked `up` to stop."""


def require_root():
    if os.geteuid() != 0:
        raise lab_error("a lab needs root, for namespaces and BPF; run this as root")


def up(options, prefix, with_hosts):
    """Builds a lab; returns its state and how many seconds it took."""
    require_root()
    started = time.monotonic()
    shape = fabric(options)
    for a, b, values in options.impairments:
        shape.link(a, b)
        impairments.check_possible(shape, values)
    nodes = _daemon_nodes(shape, with_hosts)
    borrowed = {port.cabled: {"node": port.node, "port": port.device, **namespaces.describe_device(port.cabled)}
                for port in shape.cabled_ports}
    # Held back while the prefix is taken: from then on, whatever ends `up` also ends the lab.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    with _take_prefix(prefix) as directory:
        state = lab_state(directory.prefix, options, borrowed=borrowed)
        try:
            _on_signals(_interrupt)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            directory.save(state)
            _build(directory, state, shape, nodes)
        except BaseException as error:
            _on_signals(signal.SIG_IGN)
            _tear_down(directory)
            if isinstance(error, interrupted):
                raise lab_error(f"interrupted by {error}; lab {directory.prefix} was removed") from error
            raise
        _on_signals(signal.SIG_DFL)
    return state, time.monotonic() - started


def _on_signals(action):
    for number in SIGNALS:
        signal.signal(number, action)


def _interrupt(number, _frame):
    _on_signals(signal.SIG_IGN)  # the lab is being removed: once is enough
    raise interrupted(signal.Signals(number).name)


def _daemon_nodes(shape, with_hosts):
    """The nodes that get a daemon; checked before anything is built."""
    nodes = []
    # Without its daemons a kernel fabric still forwards, only without impairments.
    if shape.has_switch_daemons and (with_hosts or not shape.is_kernel or programs.find("mrc-switch")):
        programs.binary("mrc-switch")
        nodes += shape.switches
    if with_hosts:
        programs.binary("mrcd")
        nodes += shape.hosts
    elif shape.options.impairments and not nodes:
        programs.binary("mrc-switch")
    return nodes


def _take_prefix(prefix):
    """A new lab directory: of this name, or of the first free one of mrc0, mrc1, …"""
    number = 0
    while True:
        candidate = prefix or f"mrc{number}"
        directory = lab_directory(candidate)
        left = namespaces.existing(candidate)
        if not left and directory.create():
            return directory
        if prefix:
            what = "exists already" if prefix in running_prefixes() else f"has left {left[0]} behind"
            raise lab_error(f"lab {prefix} {what}; remove it with: mrc-lab down --prefix {prefix}")
        number += 1


def _build(directory, state, shape, nodes):
    runner = namespaces.namespace_runner(directory)
    config_files.write_configs(directory, shape)
    namespaces.create_namespaces(runner, shape)
    namespaces.create_links(runner, shape)
    namespaces.borrow_devices(runner, shape)
    namespaces.configure_nodes(runner, shape, nodes)
    if nodes:
        _mount_bpffs()
        (processes.BPF_PINS / directory.prefix).mkdir(parents=True, exist_ok=True)
    # Switches before hosts: a host finds its ports usable only once they lead somewhere.
    for group in (shape.switches, shape.hosts):
        processes.start_daemons(directory, state, shape, [node for node in nodes if node in group])
    _impair(directory, state, shape)
    state.phase = "up"
    directory.save(state)


def _impair(directory, state, shape):
    """The impairments that the topology file asks for."""
    links = []
    for a, b, values in state.options.impairments:
        links.append(shape.link(a, b))
        for sender in impairments.directions(shape, links[-1]):
            state.impairments[impairments.key_of(sender)] = values
    impairments.apply_rows(state, shape, links)
    if links and shape.is_kernel:
        impairments.apply_rates(directory, state, shape, links)


def _mount_bpffs():
    mounts = open("/proc/self/mounts", encoding="utf-8").read().splitlines()
    if any(line.split()[1:3] == ["/sys/fs/bpf", "bpf"] for line in mounts):
        return
    done = subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise lab_error(f"cannot mount /sys/fs/bpf: {done.stderr.strip()}")


def down(prefix):
    """Removes everything of a lab, however little of it is there; returns whether there was anything."""
    require_root()
    with lab_directory(prefix) as directory:
        there = directory.lock() or bool(namespaces.existing(prefix))
        _tear_down(directory)
    return there


def _tear_down(directory):
    prefix = directory.prefix
    processes.end_processes(prefix, directory.path)
    with contextlib.suppress(lab_error):  # a lab without a state has borrowed nothing
        namespaces.return_devices(prefix, directory.load().borrowed)
    namespaces.remove_namespaces(namespaces.namespace_runner(directory))
    shutil.rmtree(processes.BPF_PINS / prefix, ignore_errors=True)
    instance = re.compile(re.escape(prefix) + r"-h\d+")
    for parent in (processes.BPF_PINS, processes.RUN_DIRECTORY):
        for name in os.listdir(parent) if parent.is_dir() else []:
            if instance.fullmatch(name):
                shutil.rmtree(parent / name, ignore_errors=True)
    directory.remove()
