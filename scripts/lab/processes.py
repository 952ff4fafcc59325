# SPDX-License-Identifier: Apache-2.0
"""The daemons of a lab: where their pins are, starting them, waiting for READY, ending them."""

import os
import pathlib
import select
import signal
import subprocess
import time

from . import namespaces
from .errors import lab_error
from .programs import binary
from .wait_until import TIME_SCALE, wait_until

READY_DEADLINE_S = 30 * TIME_SCALE
TERMINATE_DEADLINE_S = 5 * TIME_SCALE
LOG_TAIL_LINES = 12
BPF_PINS = pathlib.Path("/sys/fs/bpf/mrc")
RUN_DIRECTORY = pathlib.Path("/run/mrc")


def instance_of(prefix, host):
    return f"{prefix}-{host}"


def pin_of(prefix, switch):
    return BPF_PINS / prefix / switch


def socket_of(prefix, host):
    return RUN_DIRECTORY / instance_of(prefix, host) / "mrcd.sock"


def start_time(pid):
    """Clock ticks since boot at which a process started, so that a reused pid is not mistaken; None: not running."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def is_alive(record):
    return record is not None and start_time(record["pid"]) == record["start_time"]


def daemon_command(node, fabric, config):
    if node in fabric.switches:
        return [binary("mrc-switch"), "run", "--config", str(config)]
    return [binary("mrcd"), "--config", str(config)]


def start_daemons(directory, state, fabric, nodes):
    """Starts one daemon in each node and returns when all of them are ready."""
    started = {}
    for node in nodes:
        argv = daemon_command(node, fabric, directory.config(node))
        with open(directory.log(node), "wb") as log:
            started[node] = subprocess.Popen(
                namespaces.enter(directory.prefix, node, argv), stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, cwd="/", start_new_session=True)
        state.processes[node] = {"pid": started[node].pid, "start_time": start_time(started[node].pid),
                                 "command": argv}
    directory.save(state)
    _wait_ready(directory, started)


def _wait_ready(directory, started):
    waiting = dict(started)

    def all_ready():
        for node, process in list(waiting.items()):
            ended = process.poll()
            if _is_ready(directory.log(node)):
                del waiting[node]
            elif ended is not None:
                raise lab_error(f"{_command_name(process)} of {node} ended with status {ended} before it was ready"
                                + _tail(directory.log(node)))
        return not waiting

    if not wait_until(all_ready, READY_DEADLINE_S):
        node, process = next(iter(waiting.items()))
        raise lab_error(f"{_command_name(process)} of {node} is not ready after {READY_DEADLINE_S} s"
                        + _tail(directory.log(node)))


def _command_name(process):
    return pathlib.Path(process.args[3]).name


def _is_ready(log):
    return any(line.startswith(b"READY") for line in log.read_bytes().splitlines())


def _tail(log):
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_TAIL_LINES:]
    return "".join(f"\n  | {line}" for line in lines) if lines else " (it printed nothing)"


def lab_processes(prefix, state_directory):
    """Every process in the lab's namespaces, and daemons on their way into one, recorded or not."""
    inodes = set()
    for name in namespaces.existing(prefix):
        try:
            inodes.add((namespaces.NETNS / name).stat().st_ino)
        except FileNotFoundError:
            pass
    configs = f"{state_directory}/config/"
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and _belongs(entry, inodes, configs):
            found.append(int(entry.name))
    return found


def _belongs(entry, inodes, configs):
    try:
        if (entry / "ns/net").stat().st_ino in inodes:
            return True
        argv = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False  # it ended meanwhile, or is a zombie
    return any(flag == "--config" and value.startswith(configs) for flag, value in zip(argv, argv[1:]))


def end_processes(prefix, state_directory):
    """Asks all of the lab's processes to end, then ends them."""
    _signal_and_wait(lab_processes(prefix, state_directory), signal.SIGTERM, TERMINATE_DEADLINE_S)
    # Again, for what was started meanwhile and for what ignored the request.
    _signal_and_wait(lab_processes(prefix, state_directory), signal.SIGKILL, TERMINATE_DEADLINE_S)


def _signal_and_wait(pids, number, seconds):
    poll = select.poll()
    waiting = set()
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
            signal.pidfd_send_signal(fd, number)
        except ProcessLookupError:
            continue
        poll.register(fd, select.POLLIN)
        waiting.add(fd)
    deadline = time.monotonic() + seconds
    while waiting and time.monotonic() < deadline:
        for fd, _ in poll.poll(max(0, (deadline - time.monotonic()) * 1000)):
            poll.unregister(fd)
            os.close(fd)
            waiting.discard(fd)
    for fd in waiting:
        os.close(fd)
