# SPDX-License-Identifier: Apache-2.0
"""Network namespaces and what is set up inside them, by as few processes as possible.

`nsenter --net` and not `ip netns exec`: the latter mounts a fresh /sys, which hides /sys/fs/bpf.
"""

import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess

from .errors import any_of, lab_error

NETNS = pathlib.Path("/run/netns")
NODE_NAME = re.compile(r"h\d+|p\d+t[01]-\d+")
PARALLEL = 8
FIRST_IFINDEX = 20000  # beyond those of devices that came from outside

# No duplicate address detection, generated addresses or solicitations: the lab's own packets are all there are,
# and every address works at once.
QUIET = {
    "accept_dad": 0,
    "accept_ra": 0,
    "addr_gen_mode": 1,
    "autoconf": 0,
    "dad_transmits": 0,
    "router_solicitations": 0,
    "seg6_enabled": 1,
}


# What arrives on a host's ports came from addresses that are reached over its overlay.
NO_RETURN_PATH_FILTER = [f"echo 0 >/proc/sys/net/ipv4/conf/{scope}/rp_filter" for scope in ("all", "default")]


def name_of(prefix, node):
    return f"{prefix}-{node}"


def path_of(prefix, node):
    return NETNS / name_of(prefix, node)


def enter(prefix, node, argv):
    """The command line that runs argv inside a node."""
    return ["nsenter", f"--net={path_of(prefix, node)}", "--", *argv]


def owns_namespace(prefix, name):
    """Whether a namespace is one of the lab's; exact, so that lab `a` never takes what lab `a-b` made."""
    return name.startswith(prefix + "-") and NODE_NAME.fullmatch(name[len(prefix) + 1 :]) is not None


def existing(prefix):
    """The names of this lab's namespaces, whether or not a state file knows them."""
    try:
        names = [entry.name for entry in NETNS.iterdir()]
    except FileNotFoundError:
        return []
    return sorted(name for name in names if owns_namespace(prefix, name))


class namespace_runner:
    """Runs commands for one lab; they inherit the lab's lock, see state.py."""

    def __init__(self, directory):
        self.prefix = directory.prefix
        self.lock_fd = directory.lock_fd

    def run(self, argv, text, what):
        fds = () if self.lock_fd is None else (self.lock_fd,)
        done = subprocess.run(argv, input=text, text=True, capture_output=True, pass_fds=fds, check=False)
        if done.returncode != 0:
            raise lab_error(f"{what} failed: {(done.stderr or done.stdout).strip()}")

    def batch(self, lines):
        """`ip` commands outside of the namespaces, in one process."""
        self.run(["ip", "-batch", "-"], "\n".join(lines) + "\n", "ip -batch")

    def script(self, node, lines):
        """A shell script inside a node."""
        text = "set -e\n" + "\n".join(lines) + "\n"
        self.run(enter(self.prefix, node, ["sh", "-s"]), text, f"setting up {node}")

    def scripts(self, by_node):
        with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
            for done in [pool.submit(self.script, node, lines) for node, lines in by_node.items()]:
                done.result()


def sysctl_lines(settings):
    """Shell lines for a namespace that has no device yet but lo: later devices take them over from `default`."""
    return [f"echo {value} >/proc/sys/net/ipv6/conf/{scope}/{key}" for key, value in settings.items()
            for scope in ("all", "default")]


def ip_lines(commands, family="-6"):
    """A shell line that runs `ip` commands in one process."""
    return [f"ip {family} -batch - <<'END'", *commands, "END"]


def create_namespaces(runner, fabric):
    runner.batch([f"netns add {name_of(runner.prefix, node)}" for node in fabric.nodes])
    scripts = {}
    for node in fabric.nodes:
        settings = dict(QUIET)
        if node in fabric.switches:
            settings["forwarding"] = 1
        if node in fabric.hosts or not fabric.has_switch_daemons:
            # As on any host or router: a port that went down and comes up has a link-local address again, and resolves
            # its neighbours.
            settings["addr_gen_mode"] = 0
        scripts[node] = sysctl_lines(settings)
        if node in fabric.hosts and fabric.options.ipv4:
            scripts[node] += NO_RETURN_PATH_FILTER
    runner.scripts(scripts)


def create_links(runner, fabric):
    # Ports of several switches that share a program are told apart by their ifindexes.
    indexes = itertools.count(FIRST_IFINDEX)

    def end(port):
        queues = fabric.options.queues
        return (f"name {port.device} index {next(indexes)} netns {name_of(runner.prefix, port.node)} "
                f"address {port.mac} mtu {fabric.options.mtu} numtxqueues {queues} numrxqueues {queues}")

    runner.batch([f"link add {end(link.lower)} type veth peer {end(link.upper)}" for link in fabric.links
                  if link.lower.node in fabric.nodes and not link.lower.cabled and link.upper.node in fabric.nodes])


def borrow_devices(runner, fabric):
    """Cabled devices go into their nodes' namespaces."""
    lines = []
    for port in fabric.cabled_ports:
        lines += [f"link set dev {port.cabled} down",
                  f"link set dev {port.cabled} address {port.mac} mtu {fabric.options.mtu}",
                  f"link set dev {port.cabled} netns {name_of(runner.prefix, port.node)} name {port.device}"]
    runner.batch(lines)


def describe_device(name):
    """What a device is like before the lab takes it."""
    folder = pathlib.Path("/sys/class/net") / name
    if not folder.is_dir():
        known = any_of(sorted(os.listdir(folder.parent)))
        raise lab_error(f"no network device '{name}' on this machine; there are: {known}")
    return {key: (folder / key).read_text(encoding="ascii").strip() for key in ("address", "mtu")}


def return_devices(prefix, borrowed):
    """Gives back what the lab has of them, as it was, to the network that this process is in: {device: {node, port,
    address, mtu}}."""
    for name, was in borrowed.items():
        if path_of(prefix, was["node"]).exists():
            text = (f"link set dev {was['port']} down\n"
                    f"link set dev {was['port']} address {was['address']} mtu {was['mtu']}\n"
                    f"link set dev {was['port']} netns {os.getpid()} name {name}\n")
            subprocess.run(enter(prefix, was["node"], ["ip", "-force", "-batch", "-"]), input=text, text=True,
                           capture_output=True, check=False)


def offload_lines(port, has_mrcd):
    # A redirect into a veth is dropped silently unless the peer has native XDP or GRO on; and a checksum that is
    # left to the "hardware" never gets computed when an XDP program forwards the frame: mrcd sees to that itself.
    return [f"ethtool -K {port.device} gro on{'' if has_mrcd else ' tx off'} >/dev/null"]


def configure_nodes(runner, fabric, daemons):
    """Addresses, routes and offloads of every node; `daemons`: nodes that get one."""
    scripts = {}
    for name, node in fabric.nodes.items():
        lines = ip_lines(["link set dev lo up"]) + fabric.node_lines(node)
        for port in node.ports:
            lines += fabric.port_lines(port) + offload_lines(port, name in fabric.hosts and name in daemons)
        scripts[name] = lines
    runner.scripts(scripts)


def remove_namespaces(runner):
    """Deleting a namespace takes its veth pairs along. A half-made one is only a file, which `ip` refuses."""
    names = existing(runner.prefix)
    if names:
        subprocess.run(["ip", "-force", "-batch", "-"], input="".join(f"netns del {name}\n" for name in names),
                       text=True, capture_output=True, check=False)
    for name in existing(runner.prefix):
        (NETNS / name).unlink(missing_ok=True)
