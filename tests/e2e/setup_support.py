# SPDX-License-Identifier: Apache-2.0
"""Hosts that nobody has set up: namespaces with cables or bridges between them, each with a name and a machine-id."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from lab_support import DEADLINE_S, binary, check
from lab.wait_until import wait_until

IDENTIFIED = 'hostname "$1"; mount --bind "$2" /etc/machine-id; shift 2; exec "$@"'


def run(*command):
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"FAIL: {' '.join(command)}: {done.stderr}")
    return done.stdout


def ip(*arguments):
    return run("ip", *arguments)


class hosts_without_setup:
    """Namespaces of the test's own prefix; a host's devices are eth0, eth1, …"""

    def __init__(self, names, folder):
        self.prefix, self.names, self.folder = f"su{os.getpid()}", names, pathlib.Path(folder)
        self.processes = []
        self.daemons = {}
        for name in names:
            ip("netns", "add", self.netns(name))
            self.identify(name, name)

    def identify(self, name, seed):
        """A machine-id that follows from a word; two hosts of one word are copies of a disk."""
        (self.folder / f"{name}.id").write_text(hashlib.md5(seed.encode()).hexdigest() + "\n", encoding="utf-8")

    def netns(self, name):
        return f"{self.prefix}-{name}"

    def cable(self, a, a_device, b, b_device):
        """A host's device to another's, or to one of the node `sw`."""
        ip("link", "add", a_device, "mtu", "3400", "numrxqueues", "1", "netns", self.netns(a), "type", "veth", "peer",
           "name", b_device, "mtu", "3400", "netns", self.netns(b))
        for name, device in ((a, a_device), (b, b_device)):
            ip("-n", self.netns(name), "link", "set", device, "up")

    def bridge(self, number, ports):
        """An Ethernet switch of its own in the node `sw`, with these ports of hosts: (name, device)."""
        switch = f"br{number}"
        ip("-n", self.netns("sw"), "link", "add", switch, "mtu", "3400", "type", "bridge", "mcast_snooping", "0")
        ip("-n", self.netns("sw"), "link", "set", switch, "up")
        for name, device in ports:
            self.cable(name, device, "sw", f"{name}{device}")
            ip("-n", self.netns("sw"), "link", "set", f"{name}{device}", "master", switch)
            # Frames that XDP sends back are lost in a veth whose peer has neither XDP nor GRO.
            run("ip", "netns", "exec", self.netns("sw"), "ethtool", "-K", f"{name}{device}", "gro", "on")

    def start(self, name, *argv, **streams):
        """A process on a host that knows the host's name and machine-id."""
        process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.netns(name)}", "--", "unshare", "--mount", "--uts", "sh", "-ec",
             IDENTIFIED, "sh", name, str(self.folder / f"{name}.id"), *argv],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **streams)
        self.processes.append(process)
        return process

    def instance(self, name):
        return self.netns(name)

    def config(self, name):
        return self.folder / f"{name}.toml"

    def start_setup(self, name, *arguments):
        return self.start(name, binary("mrcctl"), "setup", "--instance", self.instance(name), "-o",
                          str(self.config(name)), *arguments)

    def setup(self, *arguments, names=None, status=0):
        """mrcctl setup on these hosts at once. Returns what each printed, as (stdout, stderr) by name."""
        started = {name: self.start_setup(name, *arguments) for name in names or self.hosts()}
        said = {}
        for name, process in started.items():
            said[name] = process.communicate(timeout=4 * DEADLINE_S)
            if process.returncode != status:
                sys.exit(f"FAIL: mrcctl setup on {name}: status {process.returncode}, expected {status}\n"
                         f"{''.join(said[name])}")
        return said

    def hosts(self):
        return [name for name in self.names if name != "sw"]

    def start_daemon(self, name):
        log = self.folder / f"{name}.log"
        with log.open("w", encoding="utf-8") as written:
            process = subprocess.Popen(["nsenter", f"--net=/run/netns/{self.netns(name)}", "--", binary("mrcd"),
                                        "--config", str(self.config(name))],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=written, text=True)
        self.processes.append(process)
        self.daemons[name] = process
        if process.stdout.readline() != f"READY {self.instance(name)}\n":
            sys.exit(f"FAIL: mrcd on {name} does not start: {log.read_text(encoding='utf-8')}")

    def planes_in_use(self, name):
        done = subprocess.run([binary("mrcctl"), "--instance", self.instance(name), "-j", "port", "list"], text=True,
                              capture_output=True, check=False)
        return sum(port["state"] == "up" for port in json.loads(done.stdout)) if done.stdout else 0

    def transfer(self, client, server, address, *arguments):
        """mrc-perf from one host to another, verified. Returns the client's report."""
        environment = {name: {**os.environ, "MRC_INSTANCE": self.instance(name)} for name in (client, server)}
        far = self.start(server, binary("mrc-perf"), "--once", "--json", env=environment[server])
        line = far.stdout.readline()
        if not line.startswith("LISTENING "):
            sys.exit(f"FAIL: mrc-perf on {server} does not listen: {line}{far.stderr.read()}")
        near = self.start(client, binary("mrc-perf"), address, "--json", "--verify", *arguments,
                          env=environment[client])
        out, complaints = near.communicate(timeout=4 * DEADLINE_S)
        check(near.returncode == 0, f"mrc-perf from {client} to {server} ends well {complaints[-300:]}")
        verified = json.loads(far.communicate(timeout=DEADLINE_S)[0].splitlines()[-1])["verified"]
        report = json.loads(out)
        check(verified is True and report["verified"] is True, f"every byte from {client} to {server} is right")
        return report

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()

    def remove(self):
        self.stop()
        for name in self.names:
            ip("netns", "del", self.netns(name))


@contextlib.contextmanager
def new_hosts(*names):
    with tempfile.TemporaryDirectory() as folder:
        hosts = hosts_without_setup(names, folder)
        try:
            yield hosts
        finally:
            hosts.remove()


def cabled(hosts, crossed=False):
    """a and b with two cables."""
    for near, far in enumerate((1, 0) if crossed else (0, 1)):
        hosts.cable("a", f"eth{near}", "b", f"eth{far}")


def bridged(hosts, *names):
    """An Ethernet switch for each of two planes."""
    for plane in range(2):
        hosts.bridge(plane, [(name, f"eth{plane}") for name in names])


def drop_mrc(hosts, port):
    """A switch's port drops what comes for UDP port 4791."""
    if shutil.which("nft"):
        rule = (f"add table bridge f; add chain bridge f in {{ type filter hook prerouting priority 0; }}; "
                f"add rule bridge f in iifname {port} udp dport 4791 drop")
        filtering = hosts.start("sw", "nft", rule)
    else:
        filtering = hosts.start("sw", "sh", "-ec",
                                f"tc qdisc add dev {port} clsact; tc filter add dev {port} ingress protocol ipv6 "
                                "flower ip_proto udp dst_port 4791 action drop")
    err = filtering.communicate(timeout=DEADLINE_S)[1]
    check(filtering.returncode == 0, f"a rule drops UDP 4791 {err.strip()}")


def wait_for_planes(hosts, planes):
    for name in hosts.hosts():
        check(wait_until(lambda name=name: hosts.planes_in_use(name) == planes, DEADLINE_S),
              f"{name} has {planes} planes in use")
