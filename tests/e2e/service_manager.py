#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcd under a service manager: what it notifies, its watchdog, its group, reload, drain, lack of descriptors; with the
capabilities of its unit and no others."""

import contextlib
import ctypes
import grp
import os
import pathlib
import pwd
import re
import resource
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

from lab_support import DEADLINE_S, ROOT, binary, check, lab, need_binaries, need_root

WATCHDOG_USEC = 400_000
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
NET_ADMIN, NET_RAW = 1 << 12, 1 << 13
WAIT_ALL = 0x40000000  # __WALL: threads, too
SOCKETS = "[[sockets]]\nhost = 'fd6d:7263::2'\naddresses = ['2001:db8::2']\n"  # further programs to load at the start
UNIT = pathlib.Path(ROOT) / "scripts/packaging/systemd/service-common.conf"


def unit_values(name):
    """Words of all NAME= lines of the unit."""
    return [word for line in re.findall(rf"^{name}=(.*)$", UNIT.read_text(encoding="ascii"), re.M)
            for word in line.split()]


def configured_user(config):
    return pwd.getpwnam(re.search(r'^user = "(.*)"$', config.read_text(encoding="ascii"), re.M).group(1))


class manager:
    """The socket of a service manager."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        os.chmod(self.path, 0o777)  # as systemd's: daemons notify it as the users that they run as

    def next(self, seconds):
        """The next message as a dictionary; None when none comes."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return None
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode("ascii").splitlines())

    def expect(self, key):
        """Waits for a message with this key, past those of the watchdog."""
        deadline = time.monotonic() + DEADLINE_S
        while (left := deadline - time.monotonic()) > 0:
            message = self.next(left)
            if message is not None and key in message:
                return message
        return sys.exit(f"FAIL: {key} was not notified within {DEADLINE_S} s")

    def is_silent(self, seconds):
        """Nothing comes for so long, once what is queued has been read."""
        while self.next(0) is not None:
            pass
        return self.next(seconds) is None


class daemon:
    """mrcd on h0 of a lab, with nothing but the privileges of its unit."""

    def __init__(self, running, config, environment=(), descriptors=None):
        self.instance = running.prefix + "-h0"
        self.user = configured_user(config)
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        names = "".join(",+" + word.lower().removeprefix("cap_") for word in unit_values("CapabilityBoundingSet"))
        limit = [f"--nofile={descriptors}:{descriptors}"] if descriptors else ["--nofile=64:4096"]
        argv = running.enter("h0", "prlimit", *limit, "--",
                             "setpriv", f"--bounding-set=-all{names}", "--inh-caps=-all", "--no-new-privs",
                             "env", *environment, binary("mrcd"), "--config", str(config))
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.socket = f"/run/mrc/{self.instance}/mrcd.sock"

    def wait_ready(self):
        line = self.process.stdout.readline()
        if not line.startswith("READY"):
            sys.exit(f"FAIL: mrcd is not ready: {self.logged()}")
        return self

    def logged(self):
        return pathlib.Path(self.log.name).read_text(encoding="utf-8")

    def wait_logged(self, text, times=1):
        deadline = time.monotonic() + DEADLINE_S
        while self.logged().count(text) < times and time.monotonic() < deadline:
            pass
        if self.logged().count(text) < times:
            sys.stderr.write(self.logged())
        check(self.logged().count(text) >= times, f"the log says '{text}'")

    def signal(self, number):
        self.process.send_signal(number)

    def cpu_ticks(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def ends(self):
        return self.process.wait(DEADLINE_S)


@contextlib.contextmanager
def launched(running, config, environment=(), descriptors=None):
    one = daemon(running, config, environment, descriptors)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        one.process.stdout.close()
        one.log.close()


@contextlib.contextmanager
def started(running, config, environment=(), descriptors=None):
    with launched(running, config, environment, descriptors) as one:
        yield one.wait_ready()


def connected(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(path)
    return client


def connect_as_nobody(path, groups):
    """errno of an unprivileged user's connect()."""
    child = os.fork()
    if child == 0:
        os.setgroups(groups)
        os.setgid(65534)
        os.setuid(65534)
        os._exit(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect_ex(path))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def is_answered(client, seconds):
    """The daemon has replied, or closed the session."""
    return bool(select.select([client], [], [], seconds)[0])


@contextlib.contextmanager
def halted(thread):
    """Stops one thread of a process, and no other."""
    libc = ctypes.CDLL(None, use_errno=True)

    def ptrace(request):
        if libc.ptrace(request, thread, None, None) != 0:
            sys.exit(f"FAIL: ptrace: {os.strerror(ctypes.get_errno())}")

    ptrace(PTRACE_SEIZE)
    ptrace(PTRACE_INTERRUPT)
    os.waitpid(thread, WAIT_ALL)
    try:
        yield
    finally:
        ptrace(PTRACE_DETACH)


def check_privileges(one):
    status = pathlib.Path(f"/proc/{one.process.pid}/status").read_text(encoding="ascii")
    check("NoNewPrivs:\t1" in status, "it runs without new privileges")
    effective = int(re.search(r"CapEff:\t(\w+)", status).group(1), 16)
    check(effective == NET_ADMIN | NET_RAW, f"started with the unit's capabilities, it has kept two ({effective:#x})")


def check_notifications(running, config, directory):
    service_manager = manager(directory)
    environment = [f"NOTIFY_SOCKET={service_manager.path}", f"WATCHDOG_USEC={WATCHDOG_USEC}"]
    with started(running, config, environment) as one:
        ready = service_manager.expect("READY")
        check("2 of 2 ports usable" in ready["STATUS"], f"ready, with a status: {ready['STATUS']}")
        check_privileges(one)
        limits = pathlib.Path(f"/proc/{one.process.pid}/limits").read_text(encoding="ascii")
        check(re.search(r"Max open files\s+4096\s+4096", limits) is not None, "descriptors: up to the hard limit")
        service_manager.expect("WATCHDOG")
        first = time.monotonic()
        service_manager.expect("WATCHDOG")
        check(time.monotonic() - first < WATCHDOG_USEC / 1e6, "the watchdog is fed in time")
        threads = sorted(int(name) for name in os.listdir(f"/proc/{one.process.pid}/task"))
        for thread in (one.process.pid, next(number for number in threads if number != one.process.pid)):
            what = "service" if thread == one.process.pid else "worker"
            with halted(thread):
                check(service_manager.is_silent(1.5 * WATCHDOG_USEC / 1e6), f"not while the {what} thread hangs")
            service_manager.expect("WATCHDOG")
        check_reload(one, service_manager, config)
        one.signal(signal.SIGTERM)
        service_manager.expect("STOPPING")
        check(one.ends() == 0, "SIGTERM ends it with status 0")
        check(not os.path.exists(one.socket), "its socket is gone")


def check_reload(one, service_manager, config):
    before = config.read_text(encoding="ascii")

    def reload(text):
        config.write_text(text, encoding="ascii")
        asked = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        one.signal(signal.SIGHUP)
        at = int(service_manager.expect("RELOADING")["MONOTONIC_USEC"])
        service_manager.expect("READY")
        check(asked <= at <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000, "a reload is told with its time")

    changed = re.sub(r"hosts_per_leaf = \d+", "hosts_per_leaf = 77", before)
    changed = changed.replace("[daemon]", '[daemon]\nlog_level = "debug"', 1) + "\n[transport]\nlink_gbps = 40\n"
    reload(changed)
    one.wait_logged('daemon.log_level: "info" is now "debug"')
    one.wait_logged('transport.link_gbps: "auto" is now 40, in new sessions')
    one.wait_logged("fabric.hosts_per_leaf: stays 2, 77 needs a restart")
    reload(before.replace("planes = 2", "planes = 9"))
    one.wait_logged("the configuration stays as it is: ")
    one.wait_logged("fabric.planes: found 9")
    reload(changed.replace("[daemon]", '[daemon]\ngroup = "no-such-group"', 1))
    one.wait_logged("no-such-group")
    reload(changed)  # what a bad file said has not come into effect
    reload(before)
    one.wait_logged('daemon.log_level: "debug" is now "info"')


def check_change_of_group(one, config, group):
    """By a reload: to a group that the daemon's user is in, but to no other."""
    text = config.read_text(encoding="ascii")
    own = grp.getgrgid(one.user.pw_gid)
    other_group = next(entry for entry in grp.getgrall() if entry.gr_gid not in (0, own.gr_gid, group.gr_gid))
    for name in (other_group.gr_name, own.gr_name):
        config.write_text(text.replace(f'"{group.gr_name}"', f'"{name}"'), encoding="ascii")
        one.signal(signal.SIGHUP)
        one.wait_logged(f"cannot give '{one.socket}' to group '{name}'" if name != own.gr_name
                        else f'daemon.group: "{group.gr_name}" is now "{name}"')
    check(os.stat(one.socket).st_gid == own.gr_gid, f"the socket is {own.gr_name}'s after a reload")
    config.write_text(text, encoding="ascii")


def check_group(running, config):
    user = configured_user(config)
    group = next(entry for entry in grp.getgrall()
                 if entry.gr_gid not in (0, 65534, user.pw_gid) and entry.gr_name != "mrc")
    text = config.read_text(encoding="ascii")
    other = config.with_name("group.toml")
    other.write_text(text.replace("[daemon]", f'[daemon]\ngroup = "{group.gr_name}"', 1), encoding="ascii")
    with started(running, other) as one:
        state = os.stat(one.socket)
        check(stat.S_IMODE(state.st_mode) == 0o660 and state.st_gid == group.gr_gid and state.st_uid == one.user.pw_uid,
              f"the socket is {one.user.pw_name}'s and {group.gr_name}'s, 0660")
        check(stat.S_IMODE(os.stat(os.path.dirname(one.socket)).st_mode) == 0o755, "its folder may be searched by all")
        for groups, expected in (([group.gr_gid], 0), ([], 13)):
            check(connect_as_nobody(one.socket, groups) == expected,
                  f"a user in {'the group' if groups else 'other groups'}: {os.strerror(expected)}")
        check_change_of_group(one, other, group)
        one.signal(signal.SIGTERM)
        check(one.ends() == 0, "and it ends")
    other.write_text(text.replace("[daemon]", '[daemon]\ngroup = "no-such-group"', 1), encoding="ascii")
    failed = subprocess.run(running.enter("h0", binary("mrcd"), "--config", str(other)), capture_output=True, text=True,
                            check=False)
    check(failed.returncode == 1 and "group.toml:2" in failed.stderr and "no-such-group" in failed.stderr,
          f"a group that does not exist: {failed.stderr.strip()}")


def check_descriptors(running, config):
    """More clients than descriptors: the others wait, without the daemon spinning, and get their turn."""
    with started(running, config) as one:
        own = len(os.listdir(f"/proc/{one.process.pid}/fd"))
        one.signal(signal.SIGTERM)
        one.ends()
    with started(running, config, descriptors=own + 24) as one:
        clients = [connected(one.socket) for _ in range(120)]
        one.wait_logged("no further clients for now")
        clients[-1].send(b"no request")
        before = one.cpu_ticks()
        check(not is_answered(clients[-1], 1.0), "a client too many is kept waiting")
        spent = one.cpu_ticks() - before
        check(spent < os.sysconf("SC_CLK_TCK") // 2, f"and costs {spent} ticks of a second")
        for client in clients[:110]:
            client.close()
        check(is_answered(clients[-1], DEADLINE_S), "its turn comes when others have gone")
        one.signal(signal.SIGTERM)
        check(one.ends() == 0, "and it ends")
        check(is_answered(clients[110], 0) and clients[110].recv(1) == b"", "sessions are closed")


def check_clients(running, config):
    """Over the limit of clients, lowered by a reload, programs say so in words, and one line of the log names it."""
    text = config.read_text(encoding="ascii")
    config = config.with_name("clients.toml")
    config.write_text(text, encoding="ascii")
    with started(running, config) as one:
        control, instance = [binary("mrcctl"), "ev-profile"], ["--instance", one.instance]
        subprocess.run([*control, "set", "0", "--events", "good", *instance], check=True)
        first = subprocess.Popen([*control, "events", "--follow", *instance], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
        try:
            said = first.stderr.readline().decode()
            check("waits for EV events" in said, f"one client has a place: {said.strip()}")
            config.write_text(text + "\n[limits]\nclients = 1\n", encoding="ascii")
            one.signal(signal.SIGHUP)
            one.wait_logged("is now 1, in new sessions")
            before = one.logged().count("limits.clients")
            for command in ([*control, "show", "0", *instance],
                            running.enter("h0", binary("mrc-perf"), "--port", "0")):
                second = subprocess.run(command, capture_output=True, check=False, text=True, timeout=DEADLINE_S,
                                        env={**os.environ, "MRC_INSTANCE": one.instance})
                check(second.returncode != 0 and "limits.clients" in second.stderr,
                      f"the next one is refused: {second.stderr.strip()}")
        finally:
            first.kill()
            first.communicate()
        check(one.logged().count("limits.clients") == before + 1, "the log names the limit once")
        one.signal(signal.SIGTERM)
        check(one.ends() == 0, "and it ends")


def check_restart(running, config):
    """What a killed daemon leaves belongs to its user, and does not keep the next one, which starts as root, from
    starting; a running daemon does."""
    group = grp.getgrgid(configured_user(config).pw_gid).gr_name  # root is not in it
    text = config.read_text(encoding="ascii")
    config = config.with_name("restart.toml")
    config.write_text(text.replace("[daemon]", f'[daemon]\ngroup = "{group}"', 1), encoding="ascii")
    with started(running, config) as one:
        with launched(running, config) as second:
            check(second.ends() == 1 and "is running already" in second.logged(), "one instance runs once")
        one.signal(signal.SIGKILL)
        one.process.wait()
        check(os.stat(one.socket).st_uid == one.user.pw_uid != 0, "killed, it leaves a socket of its user's")
    with started(running, config) as one:
        one.signal(signal.SIGTERM)
        check(one.ends() == 0, "the next one starts, and ends")


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrcctl", "mrc-perf")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with (tempfile.TemporaryDirectory() as directory,
          lab("manager", "--no-daemons", "--planes", "2", "--leaves", "1", "--spines", "1", "--hosts", "2") as running):
        os.chmod(directory, 0o755)
        config = pathlib.Path(directory) / "h0.toml"
        text = pathlib.Path(f"/run/mrc-lab/{running.prefix}/config/h0.toml").read_text(encoding="ascii")
        config.write_text(text + SOCKETS, encoding="ascii")
        check_notifications(running, config, directory)
        config.write_text(text, encoding="ascii")
        check_group(running, config)
        check_restart(running, config)
        check_clients(running, config)
        check_descriptors(running, config)


if __name__ == "__main__":
    main()
