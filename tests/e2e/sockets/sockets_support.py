# SPDX-License-Identifier: Apache-2.0
"""What the tests of ordinary sockets share: hosts of a lab that have an ordinary network beside the planes, whose
counters say what still goes there; mrcctl's commands; a server that tells by which addresses it is reached."""

import contextlib
import json
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lab_support import DEADLINE_S, binary, check, need_binaries, need_root, skip  # noqa: E402
from pinned_maps import GOOD, host_maps  # noqa: E402
from transfer_support import wait_until  # noqa: E402

ORDINARY = {"h0": ("192.0.2.1", "2001:db8:99::1"), "h1": ("192.0.2.2", "2001:db8:99::2")}
MRC = {"h0": "fd6d:7263::1", "h1": "fd6d:7263::1:1"}
# More leaves than the lab has: of so large a fabric mrcd lists no hosts, and reaches those of [[sockets]] all the same.
CONFIG = "[fabric]\nleaves = 1536\n" + "".join(
    f"[[sockets]]\nhost = '{MRC[host]}'\naddresses = {json.dumps(ORDINARY[host])}\n" for host in MRC)
# Of direct mode, whose overlay is IPv6 alone.
DIRECT_CONFIG = "".join(f"[[sockets]]\nhost = '{MRC[host]}'\naddresses = ['{ORDINARY[host][1]}']\n" for host in MRC)
DEVICE = "ordinary"
FEW_PACKETS = 200  # of neighbour discovery and the like
# Answers by whom it was asked, and for how long it may be kept: TCP and UDP on one port of every address.
ECHO_SERVER = """
import selectors, socket
ready = selectors.DefaultSelector()
listening = socket.create_server(("::", 7777), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128)
datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
datagrams.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
datagrams.bind(("::", 7777))
for each in (listening, datagrams):
    ready.register(each, selectors.EVENT_READ)
print("listening", flush=True)
while True:
    for key, _ in ready.select():
        if key.fileobj is listening:
            ready.register(listening.accept()[0], selectors.EVENT_READ)
        elif key.fileobj is datagrams:
            datagrams.sendto(*(lambda got: (got[1][0].encode(), got[1]))(datagrams.recvfrom(64)))
        elif key.fileobj.recv(64):
            key.fileobj.sendall(key.fileobj.getpeername()[0].encode())
        else:
            ready.unregister(key.fileobj)
            key.fileobj.close()
"""
# One connection and one datagram to each address; prints whom the server saw, and whom this side does.
ECHO_CLIENT = """
import json, socket, sys
seen = []
for address in sys.argv[1:]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_connection((address, 7777), timeout=10) as connection:
        connection.sendall(b"x")
        seen.append([connection.recv(64).decode(), connection.getpeername()[0]])
    with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
        datagrams.settimeout(10)
        datagrams.sendto(b"x", (address, 7777))
        answer, source = datagrams.recvfrom(64)
        seen.append([answer.decode(), source[0]])
print(json.dumps(seen))
"""


def need(*programs):
    """Root, our own binaries, and these programs."""
    need_root()
    need_binaries("mrcd", "mrcctl", "mrc-switch")
    for program in programs:
        if shutil.which(program) is None:
            skip(f"{program} is not installed")


def ctl(fabric, host, *arguments):
    """A command of mrcctl for the host's daemon, in the host's network."""
    return fabric.enter(host, binary("mrcctl"), *arguments, "--instance", f"{fabric.prefix}-{host}")


def adopted_run(fabric, host, *command, options=()):
    return fabric.enter(host, binary("mrcctl"), "run", "--instance", f"{fabric.prefix}-{host}", *options, "--",
                        *command)


def output(argv, status=0):
    done = subprocess.run(argv, text=True, capture_output=True, check=False, timeout=3 * DEADLINE_S)
    if done.returncode != status:
        sys.exit(f"FAIL: {' '.join(argv)}: status {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
    return done.stdout if status == 0 else done.stderr


def adopted(fabric, host="h0"):
    return json.loads(output(ctl(fabric, host, "adopt", "list", "-j")))


def states(fabric, host="h0"):
    return {row["address"]: row["state"] for row in json.loads(output(ctl(fabric, host, "adopt", "hosts", "-j")))}


@contextlib.contextmanager
def server(fabric, host, ready, *argv, stdin=None):
    process = subprocess.Popen(fabric.enter(host, *argv), stdin=stdin, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    try:
        while ready not in (line := process.stdout.readline()):
            if not line:
                sys.exit(f"FAIL: {argv[0]} in {host} does not start")
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def cgroup(fabric, name):
    """A cgroup of version 2, whatever else this machine has."""
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text("ascii").splitlines()]
    root = next((pathlib.Path(fields[1]) for fields in mounts if fields[2] == "cgroup2"), None)
    if root is None:
        skip("no cgroup v2 is mounted")
    folder = root / f"{fabric.prefix}-{name}"
    folder.mkdir()
    try:
        yield folder
    finally:
        for pid in (folder / "cgroup.procs").read_text("ascii").split():
            (root / "cgroup.procs").write_text(pid)
        folder.rmdir()


class ordinary_network:
    """A cable between both hosts, and what has crossed it."""

    def __init__(self, fabric):
        self.fabric = fabric
        fabric.inside("h0", "ip", "link", "add", DEVICE, "type", "veth", "peer", "name", DEVICE, "netns",
                      f"/run/netns/{fabric.prefix}-h1")
        for host, (ipv4, ipv6) in ORDINARY.items():
            fabric.inside(host, "ip", "address", "add", f"{ipv4}/24", "dev", DEVICE)
            fabric.inside(host, "ip", "address", "add", f"{ipv6}/64", "dev", DEVICE, "nodad")
            fabric.inside(host, "ip", "link", "set", DEVICE, "up")

    def packets(self):
        shown = json.loads(self.fabric.inside("h0", "ip", "-j", "-s", "link", "show", DEVICE))[0]["stats64"]
        return shown["rx"]["packets"] + shown["tx"]["packets"]


def plane_packets(fabric, host="h0"):
    return [row["tx_packets"] for row in host_maps(f"{fabric.prefix}-{host}").rows("ports")[:4]]


@contextlib.contextmanager
def plane_cut(fabric, plane):
    """The plane is dark within the block, and afterwards its paths are good again."""
    fabric.run("plane", str(plane), "down")
    yield
    fabric.run("plane", str(plane), "up")
    maps = host_maps(f"{fabric.prefix}-h0")
    check(wait_until(lambda: maps.states(maps.paths_to(MRC["h1"], plane)) == {GOOD}, DEADLINE_S),
          f"plane {plane} is back")


def await_hosts(fabric, state="reachable"):
    for here, there in (("h0", "h1"), ("h1", "h0")):
        check(wait_until(lambda: {found for address, found in states(fabric, here).items()
                                  if address in ORDINARY[there]} == {state}, DEADLINE_S),
              f"{here} finds {there} {state}")
        own = {found for address, found in states(fabric, here).items() if address in ORDINARY[here]}
        check(own == {"own"}, f"{here} knows its own")
