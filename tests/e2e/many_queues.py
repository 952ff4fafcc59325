#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The most ports and receive queues that mrcd serves: it starts, its packet memory is what docs/nics.md says, and bytes
arrive by every port. A port with more queues has as many while mrcd runs, and all of them again when it has ended, also
where an mrcd before it was killed; so it is with the checksums that are left to a veth."""

import json
import pathlib
import re

from lab_support import DEADLINE_S, binary, check, need_binaries, need_root
from pinned_maps import host_maps
from setup_support import ip, new_hosts, wait_for_planes

PORTS, QUEUES = 8, 16
TOO_MANY = 20
MEMORY_MIB = 160


def cable_with_queues(hosts, device, queues=QUEUES):
    """a's end has the queues, b's end sends to any of them."""
    ip("link", "add", device, "mtu", "3400", "numrxqueues", str(queues), "numtxqueues", "1", "netns", hosts.netns("a"),
       "type", "veth", "peer", "name", device, "mtu", "3400", "numrxqueues", "1", "numtxqueues", str(QUEUES), "netns",
       hosts.netns("b"))
    for name in ("a", "b"):
        ip("-n", hosts.netns(name), "link", "set", device, "up")


def receive_queues(hosts, device):
    """That a's port has now."""
    said = hosts.start("a", "ethtool", "-l", device).communicate(timeout=DEADLINE_S)[0]
    return int(re.findall(r"^RX:\s+(\d+)", said, re.M)[-1])


def leaves_checksums(hosts, device):
    """Whether the kernel leaves checksums to a's port."""
    said = hosts.start("a", "ethtool", "-k", device).communicate(timeout=DEADLINE_S)[0]
    return re.search(r"^tx-checksumming: (\w+)", said, re.M)[1] == "on"


def mappings_of(pid):
    """Sizes of a process's mappings, in MiB."""
    text = pathlib.Path(f"/proc/{pid}/smaps").read_text(encoding="ascii")
    return [int(line.split()[1]) >> 10 for line in text.splitlines() if line.startswith("Size:")]


def doctor_on(hosts, name):
    process = hosts.start(name, binary("mrc-doctor"), "--config", str(hosts.config(name)), "--json")
    out, _ = process.communicate(timeout=2 * DEADLINE_S)
    return {each["probe"]: each["found"] for each in json.loads(out)["findings"]}


def all_ports():
    with new_hosts("a", "b") as hosts:
        cable_with_queues(hosts, "eth0", TOO_MANY)
        for port in range(1, PORTS):
            cable_with_queues(hosts, f"eth{port}")
        hosts.setup("--hosts", "2", "--yes")
        for name in hosts.hosts():
            hosts.start_daemon(name)
        wait_for_planes(hosts, PORTS)
        check(receive_queues(hosts, "eth0") == QUEUES,
              f"of {TOO_MANY} queues of a port {QUEUES} are left while mrcd runs")
        mappings = mappings_of(hosts.daemons["a"].pid)
        # A mapping beside it may be one with it for the kernel.
        check(MEMORY_MIB <= max(mappings) < MEMORY_MIB + 16,
              f"{PORTS} x {QUEUES} queues: {max(mappings)} MiB of packet memory")
        said = doctor_on(hosts, "a")["locked_memory"]
        check(said == f"{MEMORY_MIB} MiB", f"mrc-doctor says so: {said}")
        used = hosts.transfer("b", "a", "a", "-n", "400", "-s", "64K")["plane_rx_packets"]
        check(len(used) == PORTS and min(used) > 0, f"bytes by every port: {used}")
        drops = host_maps(hosts.instance("a")).verdicts().get("rx_drop_no_socket", 0)
        check(drops == 0, f"none on a queue without a socket: {drops}")
        check(not any(leaves_checksums(hosts, f"eth{port}") for port in range(PORTS)),
              "the kernel computes the checksums of what the overlay sends")
        end(hosts.daemons["a"])
        check(receive_queues(hosts, "eth0") == TOO_MANY, "and all are back when it has ended")
        check(all(leaves_checksums(hosts, f"eth{port}") for port in range(PORTS)), "and left to the ports again")


def end(daemon):
    daemon.terminate()
    check(daemon.wait(DEADLINE_S) == 0, "mrcd ends")


def kill(daemon):
    daemon.kill()
    daemon.wait(DEADLINE_S)


def check_kills(hosts):
    """How many queues a's only port has that had more, from one mrcd to the next."""
    cable_with_queues(hosts, "eth0", TOO_MANY)
    hosts.setup("--hosts", "2", "--yes")
    record = pathlib.Path("/run/mrc") / hosts.instance("a") / "mrcd.ports"
    hosts.start_daemon("a")
    for _ in range(2):
        kill(hosts.daemons["a"])
        check(receive_queues(hosts, "eth0") == QUEUES and record.exists(), "mrcd is killed: they stay as they are")
        check(not leaves_checksums(hosts, "eth0"), "and checksums, too")
        hosts.start_daemon("a")
        check(receive_queues(hosts, "eth0") == QUEUES, "and the next one serves them")
    end(hosts.daemons["a"])
    check(receive_queues(hosts, "eth0") == TOO_MANY, "all are back when it has ended")
    check(leaves_checksums(hosts, "eth0"), "checksums are left to the port")
    check(not record.exists(), "and nothing is on record")
    hosts.start_daemon("a")
    kill(hosts.daemons["a"])
    text = hosts.config("a").read_text(encoding="utf-8")
    own_rule = text.replace('device = "eth0"', f'device = "eth0", queues = {QUEUES}')
    check(own_rule != text, "one whose configuration has queues of its own")
    hosts.config("a").write_text(own_rule, encoding="utf-8")
    hosts.start_daemon("a")
    check(receive_queues(hosts, "eth0") == TOO_MANY and "channels" not in record.read_text(encoding="ascii"),
          "puts all back when it starts")
    check(not leaves_checksums(hosts, "eth0"), "but for checksums, which it changes itself")


def main():
    need_root()
    need_binaries("mrcctl", "mrcd", "mrc-doctor", "mrc-perf")
    all_ports()
    with new_hosts("a", "b") as hosts:
        check_kills(hosts)


if __name__ == "__main__":
    main()
