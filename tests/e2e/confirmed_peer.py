#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A third machine on a plane of two hosts says that it has a peer's address, and says hello in that peer's name, while
packets go to the peer: it gets none of them. A peer that has another MAC address itself is followed, once frames to
the one before are not answered."""

import json
import os
import pathlib
import signal
import sys

from lab_support import DEADLINE_S, binary, check, log_lines, need_binaries, need_root
from lab.wait_until import wait_until
from pinned_maps import host_maps
from setup_support import ip, new_hosts, run

NEXT_HOP_OF_B = 8  # on plane 0: those of all ports come first
FRESH_MAC = "02:99:00:00:00:01"


def device_of(hosts, name, device):
    return json.loads(ip("-n", hosts.netns(name), "-j", "link", "show", device))[0]["address"]


def plane_address(hosts, name):
    found = json.loads(ip("-n", hosts.netns(name), "-j", "-6", "address", "show", "eth0", "scope", "global"))
    return found[0]["addr_info"][0]["local"]


class transfer:
    """From a to b, until it is ended."""

    def __init__(self, hosts):
        environment = {name: {**os.environ, "MRC_INSTANCE": hosts.instance(name)} for name in ("a", "b")}
        self.far = hosts.start("b", binary("mrc-perf"), "--once", "--json", env=environment["b"])
        check(self.far.stdout.readline().startswith("LISTENING "), "mrc-perf listens on b")
        self.near = hosts.start("a", binary("mrc-perf"), "b", "--json", "--verify", "-D", "300", "-s", "64K",
                                env=environment["a"])

    def end(self):
        self.near.send_signal(signal.SIGINT)
        out, complaints = self.near.communicate(timeout=DEADLINE_S)
        check(self.near.returncode == 130 and json.loads(out)["verified"] is True, f"every byte is right {complaints}")


def main():
    need_root()
    need_binaries("mrcctl", "mrcd", "mrc-perf")
    with new_hosts("a", "b", "x", "sw") as hosts:
        hosts.bridge(0, [(name, "eth0") for name in ("a", "b", "x")])
        hosts.bridge(1, [(name, "eth1") for name in ("a", "b")])
        hosts.setup("--hosts", "2", "--yes", names=("a", "b"))
        for name in ("a", "b"):
            hosts.start_daemon(name)
        check(wait_until(lambda: all(hosts.planes_in_use(name) == 2 for name in ("a", "b")), DEADLINE_S), "both run")
        maps = host_maps(hosts.instance("a"))

        def next_hop():
            row = maps.row("next_hops", NEXT_HOP_OF_B)
            return ":".join(f"{byte:02x}" for byte in row["mac"]) if row["resolved"] else None

        def acks():
            numbers = [number for number, path in enumerate(maps.rows("paths")) if path["next_hop"] == NEXT_HOP_OF_B]
            signals = maps.rows("signals")
            return sum(signals[number]["acks"] for number in numbers)

        def acked_more():
            before = acks()
            return wait_until(lambda: acks() > before + 100, DEADLINE_S)

        right = device_of(hosts, "b", "eth0")
        check(next_hop() == right, "a sends to b's MAC address")
        running = transfer(hosts)
        check(acked_more(), "b acknowledges packets of plane 0")

        false = device_of(hosts, "x", "eth0")
        folder = pathlib.Path(__file__).parent
        liar = hosts.start("x", sys.executable, str(folder / "false_neighbour.py"), "eth0",
                           device_of(hosts, "a", "eth0"), plane_address(hosts, "a"), plane_address(hosts, "b"))
        check(liar.stdout.readline() == "SENDING\n", "a stranger says that it is b")
        hello = hosts.start("x", sys.executable, str(folder / "strange_hellos.py"), "eth0")
        check(hello.stdout.readline() == "SENDING\n", "and says hello")
        seen = ("-n", hosts.netns("a"), "neigh", "show", "to", plane_address(hosts, "b"), "dev", "eth0")
        check(wait_until(lambda: false in ip(*seen), DEADLINE_S), f"a's kernel believes it: {ip(*seen).strip()}")
        for _ in range(20):
            check(acked_more(), "b acknowledges more")
            check(next_hop() == right, "packets go to b")
        liar.terminate()
        count = int(liar.communicate(timeout=DEADLINE_S)[0])
        check(count == 0, f"the stranger got {count} packets of MRC")
        log = hosts.folder / "a.log"
        check(wait_until(lambda: any("frames go to the one before" in line for line in
                                     log_lines(log.read_text(encoding="utf-8"), "warning")), DEADLINE_S),
              "a's log says that it does not")
        hello.terminate()

        ip("netns", "exec", hosts.netns("b"), "sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/eth0/ndisc_notify")
        ip("-n", hosts.netns("b"), "link", "set", "eth0", "address", FRESH_MAC)
        check(wait_until(lambda: FRESH_MAC in ip(*seen), DEADLINE_S), "b has another address, which a's kernel knows")
        check(acked_more() and next_hop() == right, "frames to the one before, which the switch brings to b, go on")
        run("bridge", "-n", hosts.netns("sw"), "fdb", "replace", right, "dev", "xeth0", "master", "static")
        check(wait_until(lambda: next_hop() == FRESH_MAC, DEADLINE_S), f"b's new address is followed: {next_hop()}")
        check(acked_more(), "and b acknowledges packets of plane 0 again")
        running.end()


if __name__ == "__main__":
    main()
