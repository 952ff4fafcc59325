#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcctl setup: hosts that nobody has numbered find each other by cables and by switches, and the mrcd that start with
what it wrote move verified bytes on every plane. What it cannot work out it names, and then writes nothing."""

import json
import os
import pathlib
import signal
import sys

from lab_support import DEADLINE_S, binary, check, need_binaries, need_root
from lab.wait_until import wait_until
from setup_support import bridged, cabled, drop_mrc, ip, new_hosts, wait_for_planes

MOST_LINES = 10


def views(said):
    return {name: json.loads(out) for name, (out, _) in said.items()}


def check_transfer(hosts, seen, client, server, planes=2):
    address = seen[server]["address"]
    report = hosts.transfer(client, server, address, "-n", "300", "-s", "64K")
    used = report["plane_rx_packets"][:planes]
    check(len(used) == planes and min(used) > 0, f"by every plane: {used}")


def run_daemons(hosts, planes=2):
    for name in hosts.hosts():
        hosts.start_daemon(name)
    wait_for_planes(hosts, planes)


def check_config(hosts, name, lines):
    text = hosts.config(name).read_text(encoding="utf-8")
    print(text)
    own = [line for line in text.splitlines() if not line.startswith("daemon.instance")]  # not of one daemon a machine
    check(len(own) == lines, f"the configuration of {name} has {lines} lines")


def cables():
    with new_hosts("a", "b") as hosts:
        cabled(hosts)
        said = hosts.setup("--hosts", "2", "--yes", "--json")
        seen = views(said)
        print(said["a"][1])
        check("heard b on eth0" in said["a"][1] and "heard b on eth1" in said["a"][1], "who is heard is said")
        check(all(not view["remarks"] and view["written"] and view["planes"] == 2 for view in seen.values()),
              "and nothing is amiss")
        check([port["plane"] for port in seen["a"]["ports"]] == [0, 1] and
              all(port["driver"] == "veth" and port["xdp"] == "native" for port in seen["a"]["ports"]),
              "ports are known by the doctor's probes")
        for name in hosts.hosts():
            check_config(hosts, name, MOST_LINES)
        run_daemons(hosts)
        check_transfer(hosts, seen, "a", "b")
        check_transfer(hosts, seen, "b", "a")


def resolved(hosts, name, wanted, hosts_file):
    """What getaddrinfo answers on a host that has this file for /etc/hosts."""
    process = hosts.start(name, "sh", "-ec",
                          f"mount --bind {hosts_file} /etc/hosts; exec getent -A -s files ahosts {wanted}")
    return {line.split()[0] for line in process.communicate(timeout=DEADLINE_S)[0].splitlines()}


def mrcctl(hosts, name, *arguments, status=0):
    process = hosts.start(name, binary("mrcctl"), "--instance", hosts.instance(name), *arguments)
    out, err = process.communicate(timeout=DEADLINE_S)
    check(process.returncode == status, f"mrcctl {' '.join(arguments)} ends with {status} {err.strip()}")
    return out, err


def names():
    """Hosts have the names that they say: for mrcctl, mrc-perf, and any program by a hosts file."""
    with new_hosts("a", "b") as hosts:
        cabled(hosts)
        seen = views(hosts.setup("--hosts", "2", "--yes", "--json"))
        b = seen["b"]["address"]
        run_daemons(hosts)
        known = json.loads(mrcctl(hosts, "a", "hosts", "-j")[0])
        check(known == [{"name": "b", "address": b, "known_by": "setup"}], f"a knows b by its name: {known}")
        check(hosts.transfer("a", "b", "B", "-n", "20", "-s", "64K")["verified"], "mrc-perf B finds it")
        check(len(json.loads(mrcctl(hosts, "a", "probe", "b", "-j")[0])) == 32, "and mrcctl probe b each of its paths")
        check(mrcctl(hosts, "a", "path", "list", "--peer", "b")[0].count("good") == 32, "and mrcctl path list")
        err = mrcctl(hosts, "a", "probe", "c", status=1)[1]
        check("'c' is no address and no name of a peer" in err and "the names are b" in err, "others are refused")

        file = hosts.folder / "hosts"
        before = b"127.0.0.1 localhost\n10.9.8.7 other"
        file.write_bytes(before)
        mrcctl(hosts, "a", "hosts", "--write", str(file))
        check(resolved(hosts, "a", "b", file) == {b}, "getaddrinfo has the address of b")
        check(resolved(hosts, "a", "other", file) == {"10.9.8.7"}, "and what was there")
        mrcctl(hosts, "a", "hosts", "--write", str(file))
        mrcctl(hosts, "a", "hosts", "--remove", str(file))
        check(file.read_bytes() == before, "the file is as it was, to the byte")
        file.write_bytes(b"10.9.8.7 b\n")
        check("b is left out: the name is that of 10.9.8.7 there" in
              mrcctl(hosts, "a", "hosts", "--write", str(file))[1], "a name of the file stays its own")
        check(resolved(hosts, "a", "b", file) == {"10.9.8.7"}, "also for getaddrinfo")

        text = hosts.config("a").read_text(encoding="utf-8")
        hosts.config("a").write_text(text.replace('name = "b"', 'name = "bee"'), encoding="utf-8")
        hosts.daemons["a"].send_signal(signal.SIGHUP)
        check(wait_until(lambda: "bee" in mrcctl(hosts, "a", "hosts")[0], DEADLINE_S), "SIGHUP takes another name")
        published = pathlib.Path("/run/mrc") / hosts.instance("a") / "mrcd.hosts"
        check(published.exists(), "names stand beside the socket")
        hosts.stop()
        check(not published.exists(), "and go with the daemon")


def probed():
    """Once the daemons run: who answers, how far away it is, and what is between the hosts where nobody does."""
    with new_hosts("a", "b", "sw") as hosts:
        bridged(hosts, "a", "b")
        said = hosts.setup("--hosts", "2", "--yes")
        check("then mrcctl setup --probe" in said["a"][0] and "mrc-perf b here" in said["a"][0], said["a"][0].strip())
        err = hosts.setup("--probe", "--wait", "1", names=["a"], status=1)["a"][1]
        check("no mrcd answers as instance" in err and "once it answers" in err, err.strip())
        run_daemons(hosts)
        out = hosts.setup("--probe", names=["a"])["a"][0]
        print(out)
        check("mrc-perf on b, then mrc-perf b here" in out, "the next command is said")
        view = json.loads(hosts.setup("--probe", "--json", names=["a"])["a"][0])
        check([(row["peer"], row["port"], row["speed_bps"], row["answered"] == row["sent"] > 0, row["rtt_ns"] > 0)
               for row in view["planes"]] == [("b", port, 10**10, True, True) for port in ("eth0", "eth1")],
              "by plane: speed, answers and round trip")
        drop_mrc(hosts, "aeth1")
        out = hosts.setup("--probe", "--wait", "1", names=["a"], status=1)["a"][0]
        print(out)
        check("something drops UDP port 4791" in out and "firewall (eth1)" in out and "firewall (eth0)" not in out,
              "a firewall is named, with the port that leads to it")


def listed():
    """Peers that are listed: nothing is said on the ports, whose own addresses count."""
    with new_hosts("a", "b") as hosts:
        cabled(hosts)
        peers = {"a": "b=fd10::2,fd11::2", "b": "fd10::1,fd11::1"}
        check_refused(hosts, ("port eth0 (plane 0) has no address", "ip address add"), "--yes", "--peer", peers["a"],
                      names=["a"])
        for number, name in enumerate(hosts.hosts(), 1):
            for plane in range(2):
                ip("-n", hosts.netns(name), "address", "add", f"fd1{plane}::{number}/64", "dev", f"eth{plane}", "nodad")
        for peer, words in (("b=fd10::2", ("1 address for 2 ports", "--ports")),
                            ("b=fd10::2,bee", ("'bee' is no address", "[NAME=]ADDRESS")),
                            ("-b=fd10::2,fd11::2", ("--peer", "-b", "host name")),
                            ("b=fd10::2,10.1.1.2", ("port eth1 (plane 1)", "peers' family"))):
            check_refused(hosts, words, "--yes", "--peer", peer, names=["a"])
        ear = hosts.start_setup("b", "--dry-run", "--wait", "6")
        heard = [next(line for line in ear.stderr if line.startswith("listening on"))]
        views_of_both = {name: views(hosts.setup("--yes", "--json", "--peer", peer, names=[name]))[name]
                         for name, peer in peers.items()}
        heard += ear.communicate(timeout=DEADLINE_S)[1].splitlines()
        check(ear.returncode == 1 and "nobody was heard on any port" in heard[-1],
              f"who listens hears nothing: {heard}")
        view = views_of_both["a"]
        check(view["peers"] == [{"name": "b", "says_name": None, "address": "fd10::2"}] and
              [port["address"] for port in view["ports"]] == ["fd10::1", "fd11::1"], f"a knows b {view}")
        check_config(hosts, "a", MOST_LINES - 1)
        run_daemons(hosts)
        used = hosts.transfer("a", "b", "b", "-n", "100", "-s", "64K")["plane_rx_packets"][:2]
        check(min(used) > 0, f"by every plane: {used}")
        for arguments in ([], ["--peer", "b"]):
            view = json.loads(hosts.setup("--probe", "--json", *arguments, names=["a"])["a"][0])
            check([(row["peer"], row["port"], row["answered"] == row["sent"] > 0) for row in view["planes"]] ==
                  [("b", port, True) for port in ("eth0", "eth1")] and view["next"].endswith("mrc-perf b here"),
                  f"and b answers: {view['planes']}")
        err = hosts.setup("--probe", "--peer", "c", names=["a"], status=1)["a"][1]
        check("'c' is no [[peer]]" in err and "allowed: b" in err, err.strip())


def init():
    """mrcd --init on both: a sample that sets nothing is replaced, and kept; a configuration is left as it is."""
    with new_hosts("a", "b") as hosts:
        cabled(hosts)

        def mrcd(name, *arguments):
            return hosts.start(name, binary("mrcd"), "--config", str(hosts.config(name)), *arguments,
                               env={**os.environ, "MRC_INSTANCE": hosts.instance(name)})

        def ended(process, status):
            out, err = process.communicate(timeout=2 * DEADLINE_S)
            check(process.returncode == status, f"mrcd ends with {status} {err.strip().splitlines()[-1:]}")
            return out + err

        sample = "# [host]\n\n  # leaf = 0\n"
        hosts.config("a").write_text(sample, encoding="utf-8")
        for name in hosts.hosts():
            text = ended(mrcd(name), 2)
            check("there is no configuration yet" in text and "mrcctl setup" in text, "a first start says what to type")
        both = [mrcd(name, "--init") for name in hosts.hosts()]
        check(all("is written" in ended(process, 0) for process in both), "mrcd --init writes them")
        check((hosts.folder / "a.toml.before-setup").read_text(encoding="utf-8") == sample, "the sample is kept aside")
        check(not (hosts.folder / "b.toml.before-setup").exists(), "and where there was none, nothing")
        run_daemons(hosts)
        hosts.transfer("a", "b", "b", "-n", "100", "-s", "64K")
        text = hosts.config("a").read_text(encoding="utf-8")
        check("stays as it is" in ended(mrcd("a", "--init"), 0) and
              hosts.config("a").read_text(encoding="utf-8") == text, "a second time changes nothing")
        for device in ("eth0", "eth1"):
            ip("-n", hosts.netns("b"), "link", "set", device, "down")
        hosts.config("a").unlink()
        text = ended(mrcd("a", "--init"), 1)
        check("--init: no device here can be a port" in text and "no carrier" in text, "what hinders it is said")


def crossed():
    with new_hosts("a", "b") as hosts:
        cabled(hosts, crossed=True)
        said = hosts.setup("--hosts", "2", "--yes", "--json")
        check("eth0 leads to port 1 of b" in said["a"][1] and "planes follow the cables" in said["a"][1],
              "crossed cables are named")
        run_daemons(hosts)
        check_transfer(hosts, views(said), "a", "b")


def mtus():
    """One plane has a smaller MTU than the other: mrcd starts, names the port and the command, and uses both."""
    with new_hosts("a", "b") as hosts:
        cabled(hosts)
        for name in hosts.hosts():
            ip("-n", hosts.netns(name), "link", "set", "eth1", "mtu", "1500")
        seen = views(hosts.setup("--hosts", "2", "--yes", "--json"))
        run_daemons(hosts)
        for name in hosts.hosts():
            said = [line for line in (hosts.folder / f"{name}.log").read_text(encoding="utf-8").splitlines()
                    if "its MTU is" in line]
            check(len(said) == 1 and "port eth1 (plane 1): its MTU is 1500, that of others 3400" in said[0] and
                  "ip link set dev eth1 mtu 3400" in said[0], f"{name} names the port and the command: {said}")
        check_transfer(hosts, seen, "a", "b")


def bridges():
    with new_hosts("a", "b", "c", "sw") as hosts:
        bridged(hosts, "a", "b", "c")
        seen = views(hosts.setup("--hosts", "3", "--yes", "--json"))
        check(all(len(view["peers"]) == 2 and view["planes"] == 2 for view in seen.values()), "each knows both others")
        check_config(hosts, "c", MOST_LINES + 1)
        run_daemons(hosts)
        for client, server in (("a", "b"), ("b", "c"), ("c", "a")):
            check_transfer(hosts, seen, client, server)


def one_network():
    """Both ports of each host on one switch: one plane, and the second port left out."""
    with new_hosts("a", "b", "sw") as hosts:
        hosts.bridge(0, [(name, f"eth{port}") for name in ("a", "b") for port in range(2)])
        said = hosts.setup("--hosts", "2", "--yes", "--json")
        check("eth1 is on one network with eth0: it is left out" in said["a"][1], "two ports on one network are named")
        run_daemons(hosts, planes=1)
        check_transfer(hosts, views(said), "a", "b", planes=1)


def strangers():
    """A third machine on plane 0 sends what is no hello, and hellos that came from afar."""
    with new_hosts("a", "b", "x", "sw") as hosts:
        hosts.bridge(0, [(name, "eth0") for name in ("a", "b", "x")])
        hosts.bridge(1, [(name, "eth1") for name in ("a", "b")])
        stranger = hosts.start("x", sys.executable, str(pathlib.Path(__file__).with_name("strange_hellos.py")), "eth0")
        check(stranger.stdout.readline() == "SENDING\n", "a stranger is on plane 0")
        said = hosts.setup("--hosts", "2", "--yes", "--json", names=("a", "b"))
        check(stranger.poll() is None, "and sends to the end")
        for name, view in views(said).items():
            check(view["malformed_hellos"] > 0 and "that are no hellos" in said[name][1],
                  f"{name} counts what is no hello: {view['malformed_hellos']}")
            check([peer["name"] for peer in view["peers"]] == [({"a", "b"} - {name}).pop()] and view["planes"] == 2,
                  "and it changed nothing")
            check("mallory" not in said[name][1], "nobody is heard from afar")


def check_refused(hosts, words, *arguments, names=None):
    for name, (out, err) in hosts.setup(*arguments, names=names, status=1).items():
        last = err.strip().splitlines()[-1]
        check(all(word in last for word in words) and not out, f"{name}: {last}")
        check(not hosts.config(name).exists(), "and nothing is written")


def refusals():
    with new_hosts("a", "b") as hosts:
        check_refused(hosts, ("no device here can be a port", "no Ethernet device"), "--yes", names=["a"])
        cabled(hosts)
        check_refused(hosts, ("nobody was heard on any port", "run mrcctl setup on the other hosts", "4972"), "--yes",
                      "--wait", "3", names=["a"])
        check_refused(hosts, ("no device 'eth7'", "eth0, eth1"), "--yes", "--ports", "eth0,eth7", names=["a"])
        check_refused(hosts, ("2 of 3 hosts were heard", "--hosts 2"), "--yes", "--hosts", "3", "--wait", "8")
        check_refused(hosts, ("is no terminal", "--yes", "--dry-run"), "--hosts", "2")
        hosts.identify("b", "a")
        check_refused(hosts, ("another host has this one's identity", "systemd-machine-id-setup"), "--yes", "--wait",
                      "5")
        hosts.identify("b", "b")
        dry = hosts.setup("--hosts", "2", "--dry-run")
        check('fabric.mode = "direct"' in dry["a"][0] and not hosts.config("a").exists(),
              "--dry-run prints the configuration and writes none")
        check("fd6d:7263" not in ip("-n", hosts.netns("a"), "addr"), "nor any address")
        for device in ("eth0", "eth1"):
            ip("-n", hosts.netns("a"), "link", "set", device, "down")
        check_refused(hosts, ("no device here can be a port", "eth0 is left out", "no carrier", "link set dev eth1 up"),
                      "--yes")


def kept_files():
    with new_hosts("a", "b") as hosts:
        cabled(hosts)
        mine = "host.leaf = 3\n"
        hosts.config("a").write_text(mine, encoding="utf-8")
        out, err = hosts.setup("--yes", names=["a"], status=1)["a"]
        check("is there already: --force replaces it" in err and not out and
              hosts.config("a").read_text(encoding="utf-8") == mine, "a file that is there is left alone")
        hosts.setup("--hosts", "2", "--yes", "--force")
        check("direct" in hosts.config("a").read_text(encoding="utf-8"), "--force replaces it")
        kept = hosts.folder / "a.toml.before-setup"
        check(kept.read_text(encoding="utf-8") == mine, "and keeps it aside")
        check(sorted(path.name for path in hosts.folder.glob("*.toml*")) ==
              ["a.toml", "a.toml.before-setup", "b.toml"], "nothing else is left")


def restored():
    """As after a restart of the machine: the addresses are gone, and the unit has them put back."""
    with new_hosts("a", "b") as hosts:
        cabled(hosts)
        seen = views(hosts.setup("--hosts", "2", "--yes", "--json"))
        own = {port["device"]: port["address"] for port in seen["a"]["ports"]}
        for device in own:
            ip("-n", hosts.netns("a"), "addr", "flush", "dev", device, "scope", "global")
        ip("-n", hosts.netns("a"), "addr", "add", "fd6d:7263:5e70:5::1/64", "dev", "eth0")  # of an earlier setup
        hosts.setup("--restore", names=["a"])
        for device, address in own.items():
            there = json.loads(ip("-n", hosts.netns("a"), "-j", "addr", "show", "dev", device, "scope", "global"))
            found = [each["local"] for each in there[0]["addr_info"] if each]
            check(found == [address], f"{device} has {address} alone")
        run_daemons(hosts)
        check_transfer(hosts, seen, "a", "b")


def taken():
    """Somebody on plane 0 has the address already that follows from a's identity."""
    with new_hosts("a", "b", "sw") as hosts:
        bridged(hosts, "a", "b")
        foreseen = views(hosts.setup("--hosts", "2", "--dry-run", "--json"))["a"]["ports"][0]["address"]
        ip("-n", hosts.netns("sw"), "addr", "add", f"{foreseen}/64", "dev", "br0", "nodad")
        a = hosts.start_setup("a", "--hosts", "2", "--yes")
        hosts.setup("--hosts", "2", "--yes", names=["b"])
        _, err = a.communicate(timeout=DEADLINE_S)
        check(a.returncode == 1 and f"{foreseen} is another's on the network of eth0" in err, err.splitlines()[-1])
        check("fd6d:7263" not in ip("-n", hosts.netns("a"), "addr"), "no address is left on a")
        check(not hosts.config("a").exists() and hosts.config("b").exists(), "and nothing is written")


CASES = {each.__name__: each for each in (cables, names, probed, listed, init, crossed, mtus, bridges, one_network,
                                         strangers, refusals, kept_files, restored, taken)}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: setup_hosts.py CASE; cases: {', '.join(CASES)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("FAIL: terminated"))
    need_root()
    need_binaries("mrcctl", "mrcd", "mrc-perf")
    CASES[sys.argv[1]]()


if __name__ == "__main__":
    main()
