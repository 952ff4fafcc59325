# SPDX-License-Identifier: Apache-2.0
"""Every counter along the path of a lab's packets, added up: stage by stage, what was sent, what arrived, and what was
dropped in between under a name. The rest is unexplained.

Counters are taken before and after, once they stand still, and their differences are compared."""

import collections
import copy
import re
import socket
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from pinned_maps import dump_all, sum_verdicts  # noqa: E402
from veth_counters import veth_counters  # noqa: E402

HELLO, QUERY_STATUS = 1, 19  # request_kind of agent/session/session_protocol.h
PROTOCOL = (ROOT / "agent/session/session_protocol.h").read_text(encoding="utf-8")
SESSION_VERSION = int(re.search(r"session_version = (\d+);", PROTOCOL).group(1))
STATUS_AT = 128
STATUS_FIELDS = ("received", "dropped", "bad_icrc", "transmit_sent", "transmit_refused", "socket_dropped",
                 "worker_loops", "worker_sleeps", "backlogged")


class ledger_row:
    """One stage: `drops` are counts by the name of their cause."""

    def __init__(self, stage, sent, arrived, drops):
        self.stage, self.sent, self.arrived = stage, sent, arrived
        self.drops = {name: count for name, count in drops.items() if count}

    @property
    def unexplained(self):
        return self.sent - self.arrived - sum(self.drops.values())


def daemon_status(host):
    """What mrcd says of itself over its socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.connect(host["socket"])
        for kind in (HELLO, QUERY_STATUS):
            client.send(struct.pack("=II", SESSION_VERSION, kind).ljust(128, b"\0"))
            reply = client.recv(512)
            error, = struct.unpack_from("=i", reply)
            if error:
                said = reply[8:STATUS_AT].split(bytes(1))[0]
                sys.exit(f"FAIL: mrcd of {host['name']} does not tell its status: {said}")
    return dict(zip(STATUS_FIELDS, struct.unpack_from(f"={len(STATUS_FIELDS)}Q", reply, STATUS_AT)))


def difference(after, before):
    """Number by number, in whatever they stand; other values are the later ones."""
    if isinstance(after, dict):
        return {key: difference(value, before.get(key, value)) for key, value in after.items()}
    if isinstance(after, int) and isinstance(before, int):
        return after - before
    return after


def read_veths(prefix, devices):
    return {name: veth_counters(f"{prefix}-{name}", own) for name, own in devices.items()}


class counter_snapshot:
    """All counters of a lab at one time. The kernel's own forwarding counts other things: XDP switches only."""

    def __init__(self, prefix, status):
        self.links = status["links"]
        self.hosts = {host["name"]: host for host in status["hosts"]}
        self.switches = {switch["name"]: switch for switch in status["switches"]}
        devices = collections.defaultdict(list)
        for link in self.links:
            devices[link["a"]].append(link["a_dev"])
            devices[link["b"]].append(link["b_dev"])
        self.kernel = read_veths(prefix, devices)
        self.agent = {name: daemon_status(host) for name, host in self.hosts.items()}
        self.read_maps({name: f"/sys/fs/bpf/mrc/{prefix}-{name}" for name in self.hosts})
        # A frame of neighbour discovery that came in between stands in one of the counts only.
        self.of_one_time = self.kernel == read_veths(prefix, devices)

    def read_maps(self, host_pins):
        pins = host_pins | {name: switch["pin"] for name, switch in self.switches.items()}
        wanted = [f"{pin}/verdicts" for pin in pins.values()]
        wanted += [f"{pin}/{name}" for pin in host_pins.values() for name in ("ports", "push_ring")]
        wanted += [f"{switch['pin']}/sw_ports" for switch in self.switches.values()]
        rows = dump_all(wanted)
        self.verdicts = {node: sum_verdicts(rows[f"{pin}/verdicts"]) for node, pin in pins.items()}
        self.push = {}  # of all workers
        for node, pin in host_pins.items():
            rings = [row["value"] for row in rows[f"{pin}/push_ring"]]
            self.push[node] = {field: sum(ring[field] for ring in rings) for field in rings[0] if field != "reserved"}
        self.ports = {node: {f"p{row['key']}": row["value"] for row in rows[f"{pin}/ports"]}
                      for node, pin in host_pins.items()}
        for node, switch in self.switches.items():
            values = [row["value"] for row in rows[f"{switch['pin']}/sw_ports"]]
            self.ports[node] = {value["device"]: value for value in values if value["device"]}

    def since(self, before):
        """What was counted since an earlier snapshot."""
        delta = copy.copy(self)
        for name in ("kernel", "agent", "verdicts", "ports", "push"):
            setattr(delta, name, difference(getattr(self, name), getattr(before, name)))
        return delta

    def _sum(self, nodes, prefix, field):
        return sum(row[field] for node in nodes for device, row in self.ports[node].items()
                   if device.startswith(prefix))

    def _drops(self, nodes, names):
        return {name: sum(self.verdicts[node][name] for node in nodes) for name in names}

    def _verdicts(self, nodes, group, other_than=()):
        names = [name for name in self.verdicts[next(iter(nodes))] if name.startswith(group) and name not in other_than]
        return self._drops(nodes, names)

    def link_row(self, stage, ends):
        """Frames of one kind of link: `ends` are (node, device) of the sender and of the receiver, for each link."""
        drops = {"veth: no room at the peer": 0, "veth: receive": 0}
        for sender, receiver in ends:
            for (node, device), name in ((sender, "veth: no room at the peer"), (receiver, "veth: receive")):
                drops[name] += self.kernel[node][device][name]
        sent = sum(self.ports[node][device]["tx_packets"] for (node, device), _ in ends)
        arrived = sum(self.arrived_at(node, device) for _, (node, device) in ends)
        return ledger_row(stage, sent, arrived, drops)

    def arrived_at(self, node, device):
        """Switches count every frame, also neighbour discovery; host_rx only the fabric's."""
        foreign = self.kernel[node][device]["foreign"] if node in self.switches else 0
        return self.ports[node][device]["rx_packets"] - foreign

    def link_rows(self):
        stages = {}
        for link in self.links:
            for sender, receiver in (("a", "b"), ("b", "a")):
                ends = tuple((link[end], link[f"{end}_dev"]) for end in (sender, receiver))
                stage = " -> ".join(self.tier(node) for node, _ in ends)
                stages.setdefault(stage, []).append(ends)
        return [self.link_row(stage, ends) for stage, ends in sorted(stages.items(), key=self.way)]

    def tier(self, node):
        if node in self.hosts:
            return "host"
        return "leaf" if self.switches[node]["tier"] == 0 else "spine"

    @staticmethod
    def way(stage):
        return ("host -> leaf", "leaf -> spine", "spine -> leaf", "leaf -> host").index(stage[0])

    def switch_row(self, tier):
        nodes = [name for name in self.switches if self.tier(name) == tier]
        arrived = sum(self.arrived_at(node, device) for node in nodes for device in self.ports[node])
        # Duplicates leave once more; marked, trimmed and corrupted ones are forwarded.
        drops = {name: count for name, count in self._verdicts(nodes, "MRC_SW_DROP").items()}
        drops |= self._drops(nodes, ("MRC_SW_IMPAIR_BLACKHOLE", "MRC_SW_IMPAIR_LOSS"))
        drops["duplicated"] = -self._drops(nodes, ("MRC_SW_IMPAIR_DUPLICATE",))["MRC_SW_IMPAIR_DUPLICATE"]
        return ledger_row(f"in {tier} switches", arrived, self._sum(nodes, "", "tx_packets"), drops)

    def rows(self):
        hosts = list(self.hosts)
        total = {field: sum(agent[field] for agent in self.agent.values()) for field in STATUS_FIELDS}
        verdicts = {name: sum(self.verdicts[host][name] for host in hosts) for name in self.verdicts[hosts[0]]}
        refused = self._verdicts(hosts, "MRC_PUSH", ("MRC_PUSH_SENT", "MRC_PUSH_EMPTY"))
        slots, pushed = (sum(ring[field] for ring in self.push.values()) for field in ("producer", "sent"))
        own = verdicts["MRC_RX_REFLECTED"] + verdicts["MRC_TX_PUSHED"]
        taken = verdicts["MRC_RX_STEERED"]
        received = self._verdicts(hosts, "MRC_RX_DROP")
        left = verdicts["MRC_RX_REFLECTED"] + verdicts["MRC_RX_PASS_POPPED"]
        return [
            ledger_row("slots of the XDP engine -> frames", slots, pushed, refused),
            ledger_row("engines, overlay, probe answers -> ports", total["transmit_sent"] + own,
                       self._sum(hosts, "", "tx_packets"), {}),
            *self.link_rows()[:2], self.switch_row("leaf"), self.switch_row("spine"), *self.link_rows()[2:],
            ledger_row("in host_rx", self._sum(hosts, "", "rx_packets"), taken + left, received),
            ledger_row("host_rx -> AF_XDP -> worker", taken, total["received"],
                       {"AF_XDP: socket without room": total["socket_dropped"]}),
            ledger_row("in the worker", total["received"], total["received"] - total["dropped"],
                       {"ICRC": total["bad_icrc"], "agent": total["dropped"] - total["bad_icrc"]}),
        ]

    def standing(self):
        """What must not move any more before the counters are compared."""
        return [(row.sent, row.arrived, row.drops) for row in self.rows()]


def print_ledger(rows):
    print(f"{'stage':42} {'sent':>12} {'arrived':>12} {'dropped':>9} {'unexplained':>12}  dropped by")
    for row in rows:
        causes = ", ".join(f"{name} {count}" for name, count in row.drops.items())
        print(f"{row.stage:42} {row.sent:>12} {row.arrived:>12} {sum(row.drops.values()):>9} {row.unexplained:>12}"
              f"  {causes}")
