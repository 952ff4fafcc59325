#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mrcctl adopt --unit, where systemd is process 1 of a container in a lab host's network: a unit that runs uses the
planes from then on, until the adoption is undone, or the unit stops; one whose start adopts it is adopted again when it
is restarted."""

import pathlib
import socket
import sys
import tempfile

from sockets_support import (CONFIG, ECHO_SERVER, ORDINARY, adopted, await_hosts, ctl, need, ordinary_network, output,
                             server)

from lab_support import DEADLINE_S, ROOT, binary, check, lab
from transfer_support import wait_until

sys.path.insert(0, f"{ROOT}/tests/packaging")
from systemd_machine import booted, make_root, need_systemd  # noqa: E402

TARGET = "units.target"  # it needs none of those that a machine's start has
# A service as proxies are: for each connection of a client's, one of its own to the server on the other host, whose
# answer it hands on. The client's is in the file system, and so nobody's network.
ASKER = """
import socket, sys
with socket.socket(socket.AF_UNIX) as listening:
    listening.bind(sys.argv[1])
    listening.listen()
    while True:
        near, _ = listening.accept()
        with near, socket.create_connection((sys.argv[2], 7777), timeout=10) as far:
            far.sendall(b"x")
            near.sendall(far.recv(64))
"""
ASKER_UNIT = f"""[Unit]
DefaultDependencies=no
[Service]
ExecStartPre=/bin/rm -f /asked/%p
ExecStart=/usr/bin/python3 /asker.py /asked/%p {ORDINARY["h1"][1]}
"""


def mrcctl(instance, *arguments):
    """Its words in the machine."""
    return ["/usr/bin/env", "LD_LIBRARY_PATH=/opt/lib", "/opt/bin/mrcctl", *arguments, "--instance", instance]


def units(instance):
    adopting = f"ExecStartPost={' '.join(mrcctl(instance, 'adopt', '--unit', '%n'))}\n"
    return {TARGET: "[Unit]\nDefaultDependencies=no\n", "web.service": ASKER_UNIT,
            "shop.service": ASKER_UNIT + adopting}


class services:
    """Those of the machine, and whom the server on the other host sees when one asks it."""

    def __init__(self, host, folder, instance):
        self.host, self.folder, self.instance = host, folder, instance

    def systemctl(self, *arguments):
        done = self.host.run("systemctl", *arguments)
        check(done.returncode == 0, f"systemctl {' '.join(arguments)} {done.stderr}")

    def mrcctl(self, *arguments):
        return self.host.run(*mrcctl(self.instance, *arguments))

    def servers_view(self, name):
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(DEADLINE_S)
            if not wait_until(lambda: asking.connect_ex(str(self.folder / "asked" / name)) == 0, DEADLINE_S):
                sys.exit(f"FAIL: {name} does not listen")
            return asking.recv(64).decode()


def check_unit(fabric, of):
    ordinary, planes = ORDINARY["h0"][1], fabric.host("h0")["mrc_address"]
    of.systemctl("start", "web.service")
    check(of.servers_view("web") == ordinary, "a unit that nobody has adopted uses the ordinary network")
    done = of.mrcctl("adopt", "--unit", "web.service")
    check(done.returncode == 0 and "/system.slice/web.service" in done.stdout, f"it is adopted: {done.stdout}"
          f"{done.stderr}")
    check(of.servers_view("web") == planes, "and uses the planes")
    known = adopted(fabric)
    check(len(known) == 1 and (known[0]["by"], known[0]["connections"]) == ("adopt", 1), f"it is listed: {known}")
    output(ctl(fabric, "h0", "adopt", "undo", str(known[0]["number"])))
    check(of.servers_view("web") == ordinary and adopted(fabric) == [], "undone, it is back on the ordinary network")
    done = of.mrcctl("adopt", "--unit", "web")
    check(done.returncode == 0 and of.servers_view("web") == planes, f"its name alone will do {done.stderr}")
    of.systemctl("restart", "web.service")
    check(of.servers_view("web") == ordinary, "restarted, it has another cgroup, which nobody has adopted")
    check(wait_until(lambda: adopted(fabric) == [], DEADLINE_S), "and nothing is listed")


def check_adopted_at_start(fabric, of):
    planes = fabric.host("h0")["mrc_address"]
    for how in ("start", "restart"):
        of.systemctl(how, "shop.service")
        check(of.servers_view("shop") == planes, f"{how}: a unit whose ExecStartPost adopts it uses the planes")
        check(wait_until(lambda: len(adopted(fabric)) == 1, DEADLINE_S), "and is listed once")
    of.systemctl("stop", "shop.service")
    check(wait_until(lambda: adopted(fabric) == [], DEADLINE_S), "stopped, it is not listed any more")


def check_refusals(fabric, of):
    for name in ("shop.service", "no-such-unit"):
        done = of.mrcctl("adopt", "--unit", name)
        check(done.returncode == 1 and f"'{name}' has no cgroup" in done.stderr and done.stderr.count("\n") == 1 and
              adopted(fabric) == [], f"a unit that does not run: {done.stderr.strip()}")


def main():
    need()
    need_systemd()
    build = pathlib.Path(binary("mrcctl")).resolve().parents[1]
    with (lab("sockets-u", "--ipv4", "--planes", "2", "--spines", "1", config=CONFIG) as fabric,
          tempfile.TemporaryDirectory() as name):
        folder, instance = pathlib.Path(name), f"{fabric.prefix}-h0"
        ordinary_network(fabric)
        await_hosts(fabric)
        make_root(folder, units(instance))
        (folder / "asker.py").write_text(ASKER, "ascii")
        (folder / "asked").mkdir()
        with (server(fabric, "h1", "listening", sys.executable, "-c", ECHO_SERVER),
              booted(folder, TARGET, {"/opt": build, "/run/mrc": "/run/mrc"},
                     lambda *argv: fabric.enter("h0", *argv)) as host):
            of = services(host, folder, instance)
            check_unit(fabric, of)
            check_adopted_at_start(fabric, of)
            check_refusals(fabric, of)


if __name__ == "__main__":
    main()
