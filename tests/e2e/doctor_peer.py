#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrc-doctor --peer: between two hosts, in direct mode and on switches that shift uSIDs, each trouble is found, and
named for what it is."""

import json
import signal
import sys

from lab_support import DEADLINE_S, binary, check, need_binaries, need_root
from lab.wait_until import wait_until
from setup_srv6 import PLANES, hosts_on
from setup_support import bridged, cabled, drop_mrc, ip, new_hosts, wait_for_planes

SRV6 = """[daemon]
instance = "{}"
[host]
leaf = 0
downlink = 0
[fabric]
planes = 2
leaves = 1
uplinks = 1
[[port]]
device = "eth0"
plane = 0
[[port]]
device = "eth1"
plane = 1
"""


def run_setup(hosts, names=("a", "b"), daemons=True):
    """Sets hosts up, and starts their daemons."""
    said = hosts.setup("--hosts", str(len(names)), "--yes", "--json", names=names)
    for name in names if daemons else ():
        hosts.start_daemon(name)
    return {name: json.loads(out) for name, (out, _) in said.items()}


def examined(hosts, status, peer="b", host="a"):
    """What the doctor on a host says of a peer: by probe and port each finding that is not well."""
    process = hosts.start(host, binary("mrc-doctor"), "--config", str(hosts.config(host)), "--peer", peer, "--json")
    out, err = process.communicate(timeout=2 * DEADLINE_S)
    check(process.returncode in (0, 1), f"mrc-doctor --peer {peer} ends {err.strip()}")
    report = json.loads(out)
    check(report["reached"] == (process.returncode == 0), "as its report says")
    for each in report["findings"]:
        print(f"   {each['on']} {each['probe']}: {each['state']}, {each['found']}")
        check(bool(each["remedy"]) == (each["state"] in ("broken", "slower")), "a trouble has a remedy")
    check(process.returncode == status, f"with status {status}")
    return {(each["probe"], each["on"]): each for each in report["findings"] if each["state"] == "broken"}


def check_found(found, probe, ports, words=""):
    check(set(found) == {(probe, port) for port in ports}, f"{probe} is found on {', '.join(ports)}, and nothing else")
    check(all(words in each["found"] for each in found.values()), f"and named: {words}")


def mode(hosts):
    """One daemon is gone, then in SRv6 mode."""
    cabled(hosts)
    run_setup(hosts)
    wait_for_planes(hosts, 2)
    check(not examined(hosts, 0), "two hosts that are well")
    process = hosts.start("a", binary("mrc-doctor"), "--config", str(hosts.config("a")), "--peer", "c")
    err = process.communicate(timeout=DEADLINE_S)[1]
    check(process.returncode == 2 and "'c' is no [[peer]]" in err and "allowed: b" in err, err.strip())
    hosts.daemons["b"].send_signal(signal.SIGTERM)
    hosts.daemons["b"].wait(DEADLINE_S)
    check_found(examined(hosts, 1), "mode", ("eth0", "eth1"), "UDP port 4791 is closed")
    own = json.loads(hosts.setup("--probe", "--json", "--wait", "1", names=["a"], status=1)["a"][0])
    check(own["troubles"][0]["peer"] == "b", "setup --probe says the same")
    hosts.config("b").write_text(SRV6.format(hosts.instance("b")), encoding="utf-8")
    hosts.start_daemon("b")
    found = examined(hosts, 1)
    check_found(found, "mode", ("eth0", "eth1"))
    check(all("srv6" in (each["cost"] + each["remedy"]).lower() for each in found.values()), "SRv6 mode is named")
    found = examined(hosts, 1, peer="fd6d:7263::2", host="b")
    check_found(found, "leaf", ("eth0", "eth1"), "no switch answers")
    check(all("in direct mode" in each["remedy"] for each in found.values()), "and from the other side, too")


def crossed(hosts):
    """The addresses of b's planes have changed places since the set-up, as when its cables are exchanged."""
    cabled(hosts)
    own = {port["device"]: port["address"] for port in run_setup(hosts, daemons=False)["b"]["ports"]}
    for device, address in own.items():
        ip("-n", hosts.netns("b"), "addr", "del", f"{address}/64", "dev", device)
    for device, address in zip(reversed(own), own.values()):
        ip("-n", hosts.netns("b"), "addr", "add", f"{address}/64", "dev", device, "nodad")
    found = examined(hosts, 1)
    check_found(found, "cabling", ("eth0", "eth1"))
    check(found[("cabling", "eth0")]["found"] == "leads to plane 1 of b, not to plane 0", "with the planes")


def pull(hosts, device):
    """b's end of a cable. The kernel takes the carrier from a's end a moment later."""
    ip("-n", hosts.netns("b"), "link", "set", device, "down")
    check(wait_until(lambda: "NO-CARRIER" in ip("-n", hosts.netns("a"), "link", "show", device), DEADLINE_S),
          f"a's {device} has no carrier")


def carrier(hosts):
    """b pulls one cable, then the other."""
    cabled(hosts)
    run_setup(hosts, daemons=False)
    pull(hosts, "eth1")
    found = examined(hosts, 1)
    check(("carrier", "eth1") in found and ("carrier", "host") not in found, "one port has no carrier")
    pull(hosts, "eth0")
    check_found(examined(hosts, 1), "carrier", ("host", "eth0", "eth1"), "no")


def switches(hosts):
    """On switches: a link with a smaller MTU, a filter, and a host that has an address of b's."""
    bridged(hosts, "a", "b")
    addresses = run_setup(hosts)
    wait_for_planes(hosts, 2)
    for device in ("br1", "aeth1", "beth1"):
        ip("-n", hosts.netns("sw"), "link", "set", device, "mtu", "1500")
    check_found(examined(hosts, 1), "mtu", ("eth1",), "carries 1500 bytes of this port's 3400")
    for device in ("br1", "aeth1", "beth1"):
        ip("-n", hosts.netns("sw"), "link", "set", device, "mtu", "3400")
    drop_mrc(hosts, "aeth1")
    check_found(examined(hosts, 1), "firewall", ("eth1",), "none of")
    taken = addresses["b"]["ports"][0]["address"]
    ip("-n", hosts.netns("sw"), "addr", "add", f"{taken}/64", "dev", "br0", "nodad")
    found = examined(hosts, 1)
    check(f"the peer's {taken} is also that of" in found[("address_in_use", "eth0")]["found"],
          "an address of b's that is in use")
    ip("-n", hosts.netns("sw"), "addr", "del", f"{taken}/64", "dev", "br0")
    own = addresses["a"]["ports"][0]["address"]
    ip("-n", hosts.netns("sw"), "addr", "add", f"{own}/64", "dev", "br0", "nodad")
    found = examined(hosts, 1)
    check(f"this host's {own} is also that of" in found[("address_in_use", "eth0")]["found"], "and one of a's own")


def restart(hosts, host, text):
    """With this configuration."""
    hosts.stop()
    hosts.config(host).write_text(text, encoding="utf-8")
    hosts.start_daemon(host)
    hosts.start_daemon("h3")


def srv6_switches():
    """On a fabric whose hosts have a leaf and a downlink."""
    with hosts_on("kernel") as hosts:
        peer = {host: hosts.found(host, "--yes")["address"] for host in ("h0", "h3")}["h3"]
        well = hosts.config("h0").read_text(encoding="utf-8")
        restart(hosts, "h0", well)
        for host in ("h0", "h3"):
            check(wait_until(lambda host=host: hosts.planes_in_use(host) == PLANES, DEADLINE_S), f"{host} is well")
        check(not examined(hosts, 0, peer, "h0"), "two hosts that are well")
        process = hosts.start("h0", binary("mrc-doctor"), "--config", str(hosts.config("h0")), "--peer", "fd00::1")
        err = process.communicate(timeout=DEADLINE_S)[1]
        check(process.returncode == 2 and "no host of the fabric" in err and "allowed:" in err, err.strip())
        for mtu, status in (("1500", 1), ("3400", 0)):
            hosts.fabric.inside("p1t0-0", "ip", "link", "set", "u0", "mtu", mtu)
            found = examined(hosts, status, peer, "h0")
            check_found(found, "mtu", ("p1",) if status else (), "the MTU of the link between")
        hosts.fabric.run("link", "h0", "p2t0-0", "down", "--carrier")
        check_found(examined(hosts, 1, peer, "h0"), "carrier", ("p2",))
        hosts.fabric.run("link", "h0", "p2t0-0", "up")
        crossed_planes = well.replace('"p0", plane = 0', '"p0", plane = 1').replace('"p1", plane = 1',
                                                                                   '"p1", plane = 0')
        restart(hosts, "h0", crossed_planes)
        found = examined(hosts, 1, peer, "h0")
        check_found(found, "cabling", ("p0", "p1"))
        check(found[("cabling", "p0")]["found"] == "leads to plane 0 of the fabric, not to plane 1", "with the planes")
        restart(hosts, "h0", well.replace("host.downlink = 0", "host.downlink = 1"))
        found = examined(hosts, 1, peer, "h0")
        check_found(found, "place", ("p0", "p1", "p2"), "is downlink 0 of leaf 0, not downlink 1 of leaf 0")


CASES = {"mode": (mode, ()), "crossed": (crossed, ()), "carrier": (carrier, ()), "switches": (switches, ("sw",))}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in (*CASES, "srv6"):
        sys.exit(f"usage: doctor_peer.py CASE; cases: {', '.join(CASES)}, srv6")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("FAIL: terminated"))
    need_root()
    need_binaries("mrc-doctor", "mrcctl", "mrcd", "mrc-switch")
    if sys.argv[1] == "srv6":
        srv6_switches()
        return
    case, others = CASES[sys.argv[1]]
    with new_hosts("a", "b", *others) as hosts:
        case(hosts)


if __name__ == "__main__":
    main()
