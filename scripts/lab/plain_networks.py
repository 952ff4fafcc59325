# SPDX-License-Identifier: Apache-2.0
"""Planes that are ordinary networks, where mrcd runs in direct mode: cables, Ethernet bridges, kernel routers."""

from . import addresses, namespaces
from .errors import lab_error
from .topology import host_node, network, places_of

BRIDGE = "br0"
STP_DISABLED, STP_FORWARDING = 0, 3

# The kernel's custom hash policy and its fields (net.ipv4.fib_multipath_hash_fields): source and destination address,
# protocol, and what mrc puts its EVs into: the flow label in IPv6, the source port in IPv4.
CUSTOM_POLICY = 3
HASH_FIELDS = {"ipv6": 0x1 | 0x2 | 0x4 | 0x8, "ipv4": 0x1 | 0x2 | 0x4 | 0x10}

# Of links: a /30 leaves room for both ends.
ROUTED_IPV4_LENGTH = 30
CUT_PRIORITY = 10


class plain_network(network):
    """Hosts are known by an address on each plane; mrcd finds their neighbours by itself."""

    is_kernel = True

    def add_host(self, number, leaf, downlink):
        node = host_node(f"h{number}", leaf, downlink)
        self.hosts[node.name] = node
        return node

    def name_addresses(self):
        """Once all ports are there."""
        for node in self.hosts.values():
            node.plane_addresses = [port.address for port in node.ports]
            node.mrc_address = node.plane_addresses[0] if self.options.ipv4 else addresses.mrc_address(
                node.leaf, node.downlink)

    @property
    def family(self):
        return "-4" if self.options.ipv4 else "-6"

    def address(self, plane, network_number, host):
        return addresses.plain_address(plane, network_number, host, self.options.ipv4)

    def host_mac(self, plane, number):
        return addresses.mac(addresses.HOST_PORT, plane, number, plane)

    def prefix_length(self, _port):
        return 16 if self.options.ipv4 else 64

    def port_lines(self, port):
        commands = [f"link set dev {port.device} up"]
        if port.address:
            nodad = "" if self.options.ipv4 else " nodad"
            commands.append(f"address replace {port.address}/{self.prefix_length(port)} dev {port.device}{nodad}")
        lines = namespaces.ip_lines(commands + self.route_commands(port), self.family)
        # As what configures a host's network does: an address that was given is there again when the port is.
        return [f"echo 1 >/proc/sys/net/ipv6/conf/{port.device}/keep_addr_on_down", *lines]

    def route_commands(self, _port):
        """`ip` commands for the routes by a port."""
        return []

    def node_lines(self, _node):
        return []

    def host_tables(self, node):
        return {
            "fabric": {"mode": "direct"},
            "port": [{"device": port.device, "plane": plane, "mode": self.options.host_mode}
                     for plane, port in enumerate(node.ports)],
            "peer": [self._peer(host) for host in self.hosts.values()],
        }

    def _peer(self, host):
        overlay = {} if self.options.ipv4 else {"address": host.mrc_address}
        return {"addresses": host.plane_addresses, **overlay}


class cables(plain_network):
    """Two hosts, a cable between them on each plane."""

    def build(self):
        if self.options.hosts != 2:
            raise lab_error(f"hosts is {self.options.hosts}; allowed: 2, as a cable has two ends")
        near, far = [self.add_host(number, 0, number) for number in range(2)]
        for plane in range(self.options.planes):
            self.connect((near, f"p{plane}", self.host_mac(plane, 0), self.address(plane, 0, 1)),
                         (far, f"p{plane}", self.host_mac(plane, 1), self.address(plane, 0, 2)))
        self.name_addresses()


class bridges(plain_network):
    """An Ethernet bridge on each plane, and every host on it."""

    def build(self):
        hosts = [self.add_host(number, *place) for number, place in enumerate(places_of(self.options))]
        for plane in range(self.options.planes):
            bridge = self.add_switch(plane, 0, 0)
            for number, node in enumerate(hosts):
                self.connect((node, f"p{plane}", self.host_mac(plane, number), self.address(plane, 0, number + 1)),
                             (bridge, f"d{number}", addresses.mac(addresses.LEAF_DOWN, plane, 0, number), None))
        self.name_addresses()

    def node_lines(self, node):
        if node.name in self.hosts:
            return []
        return namespaces.ip_lines([f"link add name {BRIDGE} type bridge mcast_snooping 0",
                                    f"link set dev {BRIDGE} up"])

    def port_lines(self, port):
        if port.node in self.hosts:
            return super().port_lines(port)
        return namespaces.ip_lines([f"link set dev {port.device} master {BRIDGE}", f"link set dev {port.device} up"])

    def cut_lines(self, end, is_cut):
        """A port that is switched off passes nothing, and keeps its carrier."""
        return [f"bridge link set dev {end.device} state {STP_DISABLED if is_cut else STP_FORWARDING}"]


class routers(plain_network):
    """A Clos of kernel routers on each plane: every host has a link of its own to its leaf, leaves have a route of
    equal cost by each spine."""

    def build(self):
        options = self.options
        places = places_of(options)
        hosts = [self.add_host(number, *place) for number, place in enumerate(places)]
        self._networks = 0
        for plane in range(options.planes):
            self._networks = 0
            leaves = [self.add_switch(plane, 0, index) for index in range(options.leaves)]
            for number, node in enumerate(hosts):
                leaf = leaves[node.leaf]
                self._link(plane, (node, f"p{plane}", self.host_mac(plane, number)),
                           (leaf, f"d{node.downlink}",
                            addresses.mac(addresses.LEAF_DOWN, plane, leaf.index, node.downlink)))
            for spine in [self.add_switch(plane, 1, index) for index in range(options.spines)]:
                for leaf in leaves:
                    self._link(plane, (leaf, f"u{spine.index}",
                                       addresses.mac(addresses.LEAF_UP, plane, leaf.index, spine.index)),
                               (spine, f"d{leaf.index}",
                                addresses.mac(addresses.SPINE_DOWN, plane, spine.index, leaf.index)))
        self.name_addresses()

    def _link(self, plane, lower, upper):
        """Each link is a network of its own."""
        number = self._networks = self._networks + 1
        self.connect((*lower, self.address(plane, number, 2)), (*upper, self.address(plane, number, 1)))

    def prefix_length(self, _port):
        return ROUTED_IPV4_LENGTH if self.options.ipv4 else 64

    def node_lines(self, node):
        if node.name in self.hosts:
            return []
        lines = []
        for name, fields in HASH_FIELDS.items():
            lines += [f"echo {CUSTOM_POLICY} >/proc/sys/net/{name}/fib_multipath_hash_policy",
                      f"echo {fields} >/proc/sys/net/{name}/fib_multipath_hash_fields"]
        return [*lines, "echo 1 >/proc/sys/net/ipv4/ip_forward"]

    def _single(self, address):
        return f"{address}/{32 if self.options.ipv4 else 128}"

    def route_commands(self, port):
        """A host reaches its plane by its leaf; a spine each leaf's hosts by that leaf; a leaf the others' by all
        spines, which is said once with the last of its ports."""
        if port.node in self.hosts:
            plane = self.hosts[port.node].ports.index(port)
            prefix = addresses.plane_prefix(plane, self.options.ipv4)
            return [f"route replace {prefix} via {port.peer.address} dev {port.device}"]
        node = self.switch(port.node)
        if node.tier == 1:
            return [f"route replace {self._single(far)} via {port.peer.address} dev {port.device}"
                    for far in self._hosts_of(self.switch(port.peer.node))]
        uplinks = [each for each in node.ports if not self.is_host_facing(each)]
        if not uplinks or port is not uplinks[-1]:
            return []
        ways = " ".join(f"nexthop via {each.peer.address} dev {each.device}" for each in uplinks)
        return [f"route replace {self._single(far)} {ways}" for leaf in self.plane_switches(node.plane)
                if leaf.tier == 0 and leaf is not node for far in self._hosts_of(leaf)]

    def _hosts_of(self, leaf):
        return [port.peer.address for port in leaf.ports if self.is_host_facing(port)]

    def cut_lines(self, end, is_cut):
        """What arrives by the port is dropped; both ends of a link between routers have one, so nothing passes. A host
        has no router, so toward it the way out is cut as well."""
        change = "add" if is_cut else "delete"
        commands = [f"rule {change} priority {CUT_PRIORITY} iif {end.device} blackhole"]
        if self.is_host_facing(end):
            commands.append(f"rule {change} priority {CUT_PRIORITY} to {end.peer.address} blackhole")
        return namespaces.ip_lines(commands, self.family)
