#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcctl setup --srv6: hosts on switches that shift uSIDs find their leaf, downlink and planes by loops, and the mrcd
that start with what it wrote move verified bytes on every plane."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from lab_support import DEADLINE_S, binary, check, lab, need_binaries, need_root
from lab.wait_until import wait_until

PLANES, SPINES, LEAVES = 3, 2, 2
HOSTS = ("h0", "h1", "h2", "h3")
MOST_LINES = 10
SITE = """
[fabric]
usid_block = "fd00:1:2::/48"
leaf_usid = ["20II"]
spine_usid = ["10II"]
host_usid = "80II"
"""


class unnumbered:
    """Hosts of a lab without daemons, whose configurations mrcctl setup writes into a folder."""

    def __init__(self, fabric, folder):
        self.fabric, self.folder, self.processes = fabric, pathlib.Path(folder), []

    def instance(self, host):
        return f"{self.fabric.prefix}-{host}"

    def config(self, host):
        return self.folder / f"{host}.toml"

    def setup(self, host, *arguments):
        return subprocess.run(self.fabric.enter(host, binary("mrcctl"), "setup", "--srv6", "--instance",
                                                self.instance(host), "-o", str(self.config(host)), *arguments),
                              stdin=subprocess.DEVNULL, text=True, capture_output=True, check=False,
                              timeout=4 * DEADLINE_S)

    def found(self, host, *arguments):
        done = self.setup(host, "--json", *arguments)
        if done.returncode != 0:
            sys.exit(f"FAIL: setup on {host}: status {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)

    def refusal(self, host, *arguments):
        done = self.setup(host, *arguments)
        check(done.returncode == 1, f"setup on {host} is refused, status {done.returncode}")
        check(not self.config(host).exists(), "and writes nothing")
        return done.stderr.strip().splitlines()[-1]

    def probe(self, host, *arguments, status=0):
        """By the mrcd that runs there. Returns what is printed."""
        done = subprocess.run(self.fabric.enter(host, binary("mrcctl"), "setup", "--probe", "-o",
                                                str(self.config(host)), *arguments),
                              stdin=subprocess.DEVNULL, text=True, capture_output=True, check=False,
                              env={**os.environ, "MRC_INSTANCE": self.instance(host)}, timeout=4 * DEADLINE_S)
        check(done.returncode == status, f"setup --probe on {host} ends with {status} {done.stderr.strip()}")
        return done.stderr if done.stderr else done.stdout

    def start(self, host, *argv):
        process = subprocess.Popen(self.fabric.enter(host, *argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "MRC_INSTANCE": self.instance(host)})
        self.processes.append(process)
        return process

    def start_daemon(self, host):
        log = self.folder / f"{host}.log"
        with log.open("w", encoding="utf-8") as written:
            process = subprocess.Popen(self.fabric.enter(host, binary("mrcd"), "--config", str(self.config(host))),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=written, text=True)
        self.processes.append(process)
        if not process.stdout.readline().startswith("READY"):
            sys.exit(f"FAIL: mrcd on {host} does not start: {log.read_text(encoding='utf-8')}")

    def planes_in_use(self, host):
        done = subprocess.run([binary("mrcctl"), "--instance", self.instance(host), "-j", "port", "list"], text=True,
                              capture_output=True, check=False)
        return sum(port["state"] == "up" for port in json.loads(done.stdout)) if done.stdout else 0

    def transfer(self, client, server, address):
        far = self.start(server, binary("mrc-perf"), "--once", "--json")
        if not far.stdout.readline().startswith("LISTENING "):
            sys.exit(f"FAIL: mrc-perf on {server} does not listen: {far.stderr.read()}")
        near = self.start(client, binary("mrc-perf"), address, "--json", "--verify", "-n", "300", "-s", "64K")
        out, complaints = near.communicate(timeout=4 * DEADLINE_S)
        check(near.returncode == 0, f"mrc-perf from {client} to {server} ends well {complaints[-300:]}")
        verified = json.loads(far.communicate(timeout=DEADLINE_S)[0].splitlines()[-1])["verified"]
        used = json.loads(out)["plane_rx_packets"][:PLANES]
        check(verified is True and min(used) > 0, f"every byte is right, by every plane: {used}")

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(DEADLINE_S)


@contextlib.contextmanager
def hosts_on(switch, *options):
    with tempfile.TemporaryDirectory() as folder, lab(
            "setup", "--no-daemons", "--planes", str(PLANES), "--leaves", str(LEAVES), "--spines", str(SPINES),
            "--hosts", str(len(HOSTS)), "--switch", switch, *options) as fabric:
        hosts = unnumbered(fabric, folder)
        try:
            yield hosts
        finally:
            hosts.stop()


def check_place(hosts, host, view):
    expected = hosts.fabric.host(host)
    place = {key: view[key] for key in ("leaf", "downlink", "address")}
    check(place == {"leaf": expected["leaf"], "downlink": expected["downlink"], "address": expected["mrc_address"]},
          f"{host} finds its place: {place}")
    size = {key: view[key] for key in ("planes", "leaves", "uplinks")}
    check(size == {"planes": PLANES, "leaves": LEAVES, "uplinks": SPINES}, f"and the fabric's size: {size}")
    planes = {port["device"]: port["plane"] for port in view["ports"]}
    check(planes == {f"p{plane}": plane for plane in range(PLANES)}, f"each port is on its plane: {planes}")


def run_between(hosts, client, server, address):
    for host in (client, server):
        hosts.start_daemon(host)
    check(wait_until(lambda: all(hosts.planes_in_use(host) == PLANES for host in (client, server)), DEADLINE_S),
          "all planes are in use")
    hosts.transfer(client, server, address)


def switches(kind):
    with hosts_on(kind) as hosts:
        views = {host: hosts.found(host, "--yes", *(["--ports", "p2,p0,p1"] if host == "h1" else []))
                 for host in HOSTS}
        for host, view in views.items():
            check_place(hosts, host, view)
            check(not view["remarks"] and view["written"], f"nothing is amiss on {host}")
        text = hosts.config("h3").read_text(encoding="utf-8")
        print(text)
        lines = [line for line in text.splitlines() if not line.startswith("daemon.instance")]
        check(len(lines) <= MOST_LINES, f"in {len(lines)} lines")
        names = hosts.folder / "names"
        names.write_text(f"{views['h3']['address']} three\n", encoding="utf-8")
        with hosts.config("h0").open("a", encoding="utf-8") as config:
            config.write(f'fabric.hosts_file = "{names}"\n')
        run_between(hosts, "h0", "h3", views["h3"]["address"])
        check_probes(hosts, views)


def check_probes(hosts, views):
    """An SRv6 fabric's configuration lists nobody: who is to be probed is said."""
    for peer in ("three", views["h3"]["address"]):
        view = json.loads(hosts.probe("h0", "--peer", peer, "--json"))
        check([(row["peer"], row["port"], row["answered"] == row["sent"] > 0, row["rtt_ns"] > 0)
               for row in view["planes"]] == [(peer, f"p{plane}", True, True) for plane in range(PLANES)],
              f"by plane: speed, answers and round trip of {peer}")
        check(view["next"] == f"mrc-perf on {peer}, then mrc-perf {peer} here", f"then: {view['next']}")
    print(hosts.probe("h0", "--peer", "three"))
    silent = views["h1"]["address"]
    text = hosts.probe("h0", "--peer", "three", "--peer", silent, "--wait", "1", status=1)
    check(f"{silent} does not answer on planes 0, 1, 2: is it set up" in text and "three does not" not in text, text)
    check("--peer ADDRESS names one" in hosts.probe("h0", status=1), "without --peer there is nobody to probe")
    check("no host of the fabric" in hosts.probe("h0", "--peer", "fd00::1", status=1), "nor somewhere else")
    check("no name of a peer" in hosts.probe("h0", "--peer", "four", status=1), "nor a name that is nobody's")


def site():
    """Switches of the site's own plan, which another host's configuration tells."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as plan:
        plan.write(SITE)
        plan.flush()
        with hosts_on("kernel", "--mrcd-config", plan.name) as hosts:
            like = f"/run/mrc-lab/{hosts.fabric.prefix}/config/h0.toml"
            views = {host: hosts.found(host, "--yes", "--like", like, "--peer", "two") for host in ("h1", "h2")}
            following = views["h1"]["next"]
            check(f"then mrcctl setup --probe -o {hosts.config('h1')} --peer two, mrc-perf on two, then mrc-perf two "
                  "here" in following, f"what comes next is said: {following}")
            for host, view in views.items():
                check_place(hosts, host, view)
            text = hosts.config("h1").read_text(encoding="utf-8")
            check('fabric.usid_block = "fd00:1:2::/48"' in text and 'fabric.leaf_usid = ["20II"]' in text,
                  f"the plan is in what is written:\n{text}")
            run_between(hosts, "h1", "h2", views["h2"]["address"])


def refusals():
    with hosts_on("xdp") as hosts:
        why = hosts.refusal("h0", "--yes", "--leaf", "1", "--downlink", "0")
        check("no loop came back on p0, p1, p2, of block fcbb:bb00::/32, leaves 1, downlinks 0" in why, why)
        why = hosts.refusal("h0", "--yes", "--like", "/no/such/file")
        check("--like" in why and "/no/such/file" in why, why)
        direct = hosts.folder / "direct.toml"
        direct.write_text('fabric.mode = "direct"\nport = [{ device = "p0", plane = 0, address = "fd00::1" }]\n'
                          'peer = [{ addresses = ["fd00::2"] }]\n', encoding="utf-8")
        why = hosts.refusal("h0", "--yes", "--like", str(direct))
        check("is in direct mode" in why, why)
        why = hosts.refusal("h0", "--yes", "--peer", "fd00::1")
        check("--peer: 'fd00::1' is no host of this fabric" in why and
              hosts.fabric.host("h0")["mrc_address"] in why, why)
        check("[y/N]" not in hosts.refusal("h0") and "--yes writes without asking" in hosts.refusal("h0"),
              "without a terminal nobody is asked")
        done = hosts.setup("h0", "--hosts", "2")
        check(done.returncode == 2 and "--srv6" in done.stderr, done.stderr.strip().splitlines()[0])
        hosts.fabric.run("switch", "p1t1-1", "down")
        view = hosts.found("h0", "--yes", "--ports", "p0,p1")
        check([port["plane"] for port in view["ports"]] == [0, 1], "a port that is not named is left alone")
        check(view["remarks"] == ["plane 1: no loop comes back by spine 1", "plane 1: no loop comes back by leaf 1"],
              f"what does not answer is named: {view['remarks']}")


CASES = {"xdp": lambda: switches("xdp"), "kernel": lambda: switches("kernel"), "site": site, "refusals": refusals}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: setup_srv6.py CASE; cases: {', '.join(CASES)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("FAIL: terminated"))
    need_root()
    need_binaries("mrcctl", "mrcd", "mrc-perf", "mrc-switch")
    CASES[sys.argv[1]]()


if __name__ == "__main__":
    main()
