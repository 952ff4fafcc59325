#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcd on hosts none of whose ports is there: it runs, says once what it waits for, to the log, its service manager and
whoever asks, and serves when the first device appears; the second is taken in when it comes. SIGHUP and SIGTERM work
meanwhile. A direct fabric's port without an address is waited for, too."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from lab_support import DEADLINE_S, binary, check, log_lines, need_binaries, need_root
from lab.wait_until import wait_until
from service_manager import manager
from setup_support import cabled, ip, new_hosts, wait_for_planes

WAITING = "waiting for a port: eth0, eth1 are not there"


class daemon:
    """mrcd on a host, and what it says."""

    def __init__(self, hosts, name):
        self.hosts, self.name = hosts, name
        self.notified = manager(tempfile.mkdtemp(dir=hosts.folder))
        self.log = tempfile.TemporaryFile("w+")
        self.output = tempfile.TemporaryFile("w+")
        environment = {**os.environ, "NOTIFY_SOCKET": self.notified.path}
        self.process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{hosts.netns(name)}", "--", binary("mrcd"), "--config",
             str(hosts.config(name))], stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.log, env=environment)
        hosts.processes.append(self.process)

    def said(self):
        return os.pread(self.log.fileno(), 1 << 20, 0).decode()

    def serves(self):
        return wait_until(lambda: "READY" in os.pread(self.output.fileno(), 100, 0).decode(), DEADLINE_S)


def check_told(hosts, name):
    """Whoever asks for the daemon is told why it doesn't serve."""
    environment = {**os.environ, "MRC_INSTANCE": hosts.instance(name)}
    for argv in (["mrcctl", "status"], ["mrcctl", "probe", "fd00::1"], ["mrc-perf"]):
        done = subprocess.run([binary(argv[0]), *argv[1:]], env=environment, text=True, capture_output=True,
                              check=False)
        check(done.returncode == 1 and f"mrcd is {WAITING}" in done.stderr, f"{' '.join(argv)}: {done.stderr.strip()}")


def check_transfer(hosts, address, planes):
    used = hosts.transfer("a", "b", address, "-n", "100", "-s", "64K")["plane_rx_packets"]
    check([count > 0 for count in used[:2]] == [plane in planes for plane in range(2)],
          f"by the planes that there are: {used}")


def devices():
    """A configuration of mrcctl setup, whose addresses went with the devices."""
    with new_hosts("a", "b") as hosts:
        cabled(hosts)
        b_address = json.loads(hosts.setup("--hosts", "2", "--yes", "--json")["b"][0])["address"]
        for name in hosts.hosts():  # by the privileges that are left when the second device comes
            text = hosts.config(name).read_text(encoding="utf-8")
            hosts.config(name).write_text(f'daemon.user = "nobody"\n{text}', encoding="utf-8")
        for device in ("eth0", "eth1"):
            ip("-n", hosts.netns("a"), "link", "del", device)
        daemons = [daemon(hosts, name) for name in hosts.hosts()]
        for each in daemons:
            status = each.notified.expect("READY")["STATUS"]
            check(status == f"instance {hosts.instance(each.name)}: {WAITING}", f"{each.name}: {status}")
            check_told(hosts, each.name)
        again = daemon(hosts, "a")
        check(again.process.wait(DEADLINE_S) == 1 and "is running already" in again.said(), "it is there only once")
        daemons[0].process.send_signal(signal.SIGHUP)
        check("READY" in daemons[0].notified.expect("READY"), "SIGHUP reads the configuration, and it waits again")

        for plane in range(2):
            hosts.cable("a", f"eth{plane}", "b", f"eth{plane}")
            for each in daemons:
                check(each.serves(), f"{each.name} serves with eth{plane} {each.said()}")
            wait_for_planes(hosts, plane + 1)
            check_transfer(hosts, b_address, range(plane + 1))
        for each in daemons:
            told = [line for line in log_lines(each.said(), "warning") if "waiting for a port" in line]
            check(len(told) == (2 if each.name == "a" else 1), f"{each.name} has said it once each time: {told}")


def ended():
    with new_hosts("a", "b") as hosts:
        cabled(hosts)
        hosts.setup("--hosts", "2", "--yes")
        for device in ("eth0", "eth1"):
            ip("-n", hosts.netns("a"), "link", "del", device)
        waiting = daemon(hosts, "a")
        waiting.notified.expect("READY")
        waiting.process.terminate()
        check(waiting.process.wait(DEADLINE_S) == 0, "SIGTERM ends it, with status 0")
        left = pathlib.Path("/run/mrc") / hosts.instance("a")
        check(not left.exists(), "and nothing is left")


def address():
    """Devices that are there, and whose addresses come later."""
    with new_hosts("a", "b") as hosts:
        cabled(hosts)
        planes = "".join(f'[[port]]\ndevice = "eth{plane}"\nplane = {plane}\n' for plane in range(2))
        hosts.config("a").write_text(
            f'daemon.instance = "{hosts.instance("a")}"\nfabric.mode = "direct"\n{planes}'
            '[[peer]]\naddresses = ["fd10::2", "fd11::2"]\n', encoding="utf-8")
        waiting = daemon(hosts, "a")
        check("port eth0 (plane 0) has no address" in waiting.notified.expect("READY")["STATUS"], "eth0 has no address")
        ip("-n", hosts.netns("a"), "address", "add", "fd10::1/64", "dev", "eth0", "nodad")
        check("port eth1 (plane 1) has no address" in waiting.notified.expect("READY")["STATUS"], "then eth1 has none")
        ip("-n", hosts.netns("a"), "address", "add", "fd11::1/64", "dev", "eth1", "nodad")
        check(waiting.serves(), f"it serves once both have one {waiting.said()}")


CASES = {case.__name__: case for case in (devices, ended, address)}


def main():
    need_root()
    need_binaries("mrcd", "mrcctl", "mrc-perf")
    CASES[sys.argv[1]]()


if __name__ == "__main__":
    main()
