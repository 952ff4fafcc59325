# SPDX-License-Identifier: Apache-2.0
"""Hosts, switches and links of a lab, derived from its options alone, so that no state file can disagree with it."""

import dataclasses

from . import addresses, kernel_switch, namespaces
from .errors import any_of, lab_error
from .usid_plan import usid_plan


@dataclasses.dataclass
class port:
    """One end of a link: of a veth pair, or a network device of this machine that a cable leads from."""

    device: str
    mac: str
    address: str  # None: it has none, as a bridge's port
    node: str
    peer: "port" = None
    prefix_length: int = 64
    cabled: str = None  # what the device is called outside of the lab, when it is no veth


@dataclasses.dataclass
class route:
    """A static route to a uSID's prefix: packets whose next uSID this is leave by `via`."""

    usid: str
    via: port


@dataclasses.dataclass
class host_node:
    name: str
    leaf: int
    downlink: int
    ports: list = dataclasses.field(default_factory=list)  # by plane

    mrc_address: str = None
    ipv4_address: str = None  # beside it
    plane_addresses: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class switch_node:
    name: str
    plane: int
    tier: int
    index: int
    usid: str = None  # its prefix; None: it forwards by ordinary addresses
    ports: list = dataclasses.field(default_factory=list)
    routes: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class fabric_link:
    """`lower` is the end nearer to the hosts."""

    lower: port
    upper: port

    @property
    def names(self):
        return (self.lower.node, self.upper.node)

    @property
    def key(self):
        """What the state calls it; two hosts may have several cables between them."""
        return f"{self.lower.node} {self.upper.node}" + (f" {self.lower.device}" if self.is_cable else "")

    @property
    def is_cable(self):
        return self.lower.node.startswith("h") and self.upper.node.startswith("h")


class network:
    """Nodes and links. What builds a kind of fabric fills them in, and says what its nodes are told.

    Methods that kinds have besides: port_lines(port), node_lines(node), host_tables(node), cut_lines(end, is_cut)."""

    has_switch_daemons = False

    def __init__(self, options):
        self.options = options
        self.hosts = {}
        self.switches = {}
        self.links = []
        self.build()
        self._keep_what_is_here(options.here)
        self._attach_devices(options.devices)

    def _keep_what_is_here(self, here):
        """Other nodes of the fabric are on other machines, whose labs have the same options."""
        for name in here:
            self._named(name, self.nodes, "node")
        if here:
            self.hosts = {name: node for name, node in self.hosts.items() if name in here}
            self.switches = {name: node for name, node in self.switches.items() if name in here}
            self.links = [link for link in self.links if set(link.names) & set(here)]

    def _attach_devices(self, devices):
        ends = {f"{end.node}:{end.device}": end for link in self.links for end in (link.lower, link.upper)
                if end.node in self.nodes}
        for name, device in devices.items():
            self._named(name, ends, "port").cabled = device
        for link in self.links:
            here = [end for end in (link.lower, link.upper) if end.node in self.nodes]
            bare = [f"{end.node}:{end.device}" for end in here if not end.cabled]
            if bare and len(bare) != 2:
                why = "leads to another machine" if len(here) == 1 else "is the other end of a cable"
                raise lab_error(f"{bare[0]} {why}; give its network device by --device {bare[0]}=DEVICE")

    @property
    def cabled_ports(self):
        return [port for node in self.nodes.values() for port in node.ports if port.cabled]

    @property
    def nodes(self):
        return {**self.hosts, **self.switches}

    def add_switch(self, plane, tier, index, usid=None):
        node = switch_node(f"p{plane}t{tier}-{index}", plane, tier, index, usid)
        self.switches[node.name] = node
        return node

    def connect(self, lower, upper):
        """A link between two new ports, each (node, device, MAC address, address)."""
        ends = []
        for node, device, mac, address in (lower, upper):
            end = port(device, mac, address, node.name)
            node.ports.append(end)
            ends.append(end)
        ends[0].peer, ends[1].peer = ends[1], ends[0]
        self.links.append(fabric_link(*ends))
        return ends

    def node(self, name):
        return self._named(name, self.nodes, "node")

    def switch(self, name):
        return self._named(name, self.switches, "switch")

    def _named(self, name, among, what):
        if name not in among:
            raise lab_error(f"no {what} '{name}' in this lab; allowed: {any_of(among)}")
        return among[name]

    def check_plane(self, plane):
        if not 0 <= plane < self.options.planes:
            raise lab_error(f"no plane {plane} in this lab; allowed: 0 to {self.options.planes - 1}")

    def plane_cables(self, plane):
        return [link for link in self.links if link.is_cable and link.lower.device == f"p{plane}"]

    def plane_switches(self, plane):
        return [node for node in self.switches.values() if node.plane == plane]

    def link(self, a, b):
        """The link between two nodes, in either order; lab_error names the neighbours that there are."""
        ends = {name: link for link in self.links for name in link.names}
        for name in (a, b):
            self._named(name, ends, "node")
        neighbours = []
        for link in self.links:
            if set(link.names) == {a, b}:
                return link
            if a in link.names:
                neighbours.append(link.names[link.names[0] == a])
        raise lab_error(f"{a} and {b} are not linked; {a} is linked to: {any_of(neighbours)}")

    def is_host_facing(self, end):
        return end.peer.node.startswith("h")


class clos(network):
    """The SRv6 fabric: every host on one leaf of each plane, every leaf on every spine of its plane."""

    has_switch_daemons = True

    def build(self):
        self.usids = usid_plan(self.options.extra_config)
        for plane in range(self.options.planes):
            self._add_plane_switches(plane)
        for number, (leaf, downlink) in enumerate(places_of(self.options)):
            self._add_host(number, leaf, downlink)

    def _link(self, lower, upper):
        self.connect((*lower, addresses.FABRIC_LOWER), (*upper, addresses.FABRIC_UPPER))

    def _add_plane_switches(self, plane):
        leaves = [self.add_switch(plane, 0, index, self.usids.prefix("leaf", plane, index))
                  for index in range(self.options.leaves)]
        spines = [self.add_switch(plane, 1, index, self.usids.prefix("spine", plane, index))
                  for index in range(self.options.spines)]
        for leaf in leaves:
            for spine in spines:
                self._link(
                    (leaf, f"u{spine.index}", addresses.mac(addresses.LEAF_UP, plane, leaf.index, spine.index)),
                    (spine, f"d{leaf.index}", addresses.mac(addresses.SPINE_DOWN, plane, spine.index, leaf.index)),
                )
                leaf.routes.append(route(spine.usid, leaf.ports[-1]))
                spine.routes.append(route(leaf.usid, spine.ports[-1]))

    def _add_host(self, number, leaf_index, downlink):
        node = host_node(
            f"h{number}", leaf_index, downlink, mrc_address=addresses.mrc_address(leaf_index, downlink),
            ipv4_address=addresses.ipv4_address(leaf_index, downlink) if self.options.ipv4 else None,
            plane_addresses=[addresses.mrc_address(leaf_index, downlink, plane)
                             for plane in range(self.options.planes)])
        self.hosts[node.name] = node
        for plane in range(self.options.planes):
            leaf = self.switches[f"p{plane}t0-{leaf_index}"]
            self._link(
                (node, f"p{plane}", addresses.mac(addresses.HOST_PORT, plane, number, plane)),
                (leaf, f"d{downlink}", addresses.mac(addresses.LEAF_DOWN, plane, leaf_index, downlink)),
            )
            leaf.routes.append(route(self.usids.prefix("host", plane, downlink), leaf.ports[-1]))

    @property
    def is_kernel(self):
        return self.options.switch == "kernel"

    def port_lines(self, port):
        """Shell lines that make a port usable, also again after it was taken down. The neighbour is known: nothing
        has to be asked for."""
        commands = [
            f"link set dev {port.device} up",
            f"address replace {port.address}/64 dev {port.device} nodad",
            f"neighbour replace {port.peer.address} lladdr {port.peer.mac} dev {port.device} nud permanent",
        ]
        if self.is_kernel and port.node in self.switches:
            commands += kernel_switch.port_routes(self.switch(port.node), port)
        return namespaces.ip_lines(commands)

    def node_lines(self, node):
        """What turns a node into what it is, before its ports are usable."""
        kernel = self.is_kernel and node.name in self.switches
        return namespaces.ip_lines(kernel_switch.commands(node)) if kernel else []

    def cut_lines(self, end, is_cut):
        return namespaces.ip_lines(kernel_switch.cut_commands(self.switch(end.node), end, is_cut,
                                                              self.is_host_facing(end)))

    def host_tables(self, node):
        """What a host's mrcd is told of the fabric."""
        options = self.options
        tables = {
            "host": {"address": node.mrc_address, "leaf": node.leaf, "downlink": node.downlink},
            "fabric": {
                "usid_block": str(self.usids.block),
                "planes": options.planes,
                "leaves": options.leaves,
                "uplinks": options.spines,
                "hosts_per_leaf": -(-options.hosts // options.leaves),
                "address_prefix": addresses.MRC_PREFIX,
            },
            "port": [{"device": port.device, "plane": plane, "gateway": port.peer.address, "mode": options.host_mode}
                     for plane, port in enumerate(node.ports)],
        }
        if options.ipv4:
            tables["fabric"]["ipv4_prefix"] = addresses.IPV4_PREFIX
        return tables


def places_of(options):
    """Leaf and downlink of each host: spread over the leaves, unless the topology file says otherwise."""
    places = [(number % options.leaves, number // options.leaves) for number in range(options.hosts)]
    for number, (leaf, downlink) in options.places.items():
        if int(number) >= options.hosts:
            raise lab_error(f"[[host]] h{number} is not in this lab; allowed: h0 to h{options.hosts - 1}")
        if leaf >= options.leaves:
            raise lab_error(f"[[host]] h{number}: leaf is {leaf}; allowed: 0 to {options.leaves - 1}")
        places[int(number)] = (leaf, downlink)
    taken = {}
    for number, place in enumerate(places):
        if place[1] > 255:
            raise lab_error(f"hosts: h{number} would be downlink {place[1]} of its leaf; a leaf has 256, add leaves")
        if place in taken:
            raise lab_error(f"h{taken[place]} and h{number} are both on leaf {place[0]}, downlink {place[1]}")
        taken[place] = number
    return places
