#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How the adoption of unchanged programs begins and ends: what they send to a host's ordinary address rides the planes
as long as it lasts, and is back on the ordinary network afterwards, however it ends."""

import contextlib
import json
import os
import pathlib
import pwd
import select
import signal
import subprocess
import sys
import textwrap

from sockets_support import (CONFIG, DIRECT_CONFIG, ECHO_CLIENT, ECHO_SERVER, FEW_PACKETS, ORDINARY, adopted,
                             adopted_run, await_hosts, cgroup, ctl, need, ordinary_network, output, server, states)

from lab_support import DEADLINE_S, binary, check, lab
from pinned_maps import host_maps
from transfer_support import wait_until

# Stays, and asks once for every line that it is given.
PATIENT_CLIENT = ("print('ready', flush=True)\nimport sys\nfor line in sys.stdin:\n" +
                  textwrap.indent(ECHO_CLIENT.strip().replace("seen))", "seen), flush=True)"), "    "))


def attached_to(folder):
    return json.loads(output(["bpftool", "-j", "cgroup", "show", str(folder)]).strip() or "[]")


def check_status(fabric):
    for command, status in ((["true"], 0), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 128 + 9),
                            (["/nowhere"], 127), (["/etc/passwd"], 126)):
        done = subprocess.run(adopted_run(fabric, "h0", *command), capture_output=True, check=False)
        check(done.returncode == status, f"mrcctl run {' '.join(command)}: status {status}")
    run = subprocess.Popen(adopted_run(fabric, "h0", "tail", "-f", "/dev/null"))
    check(wait_until(lambda: adopted(fabric), DEADLINE_S), "a command runs")
    run.terminate()
    check(run.wait(DEADLINE_S) == 128 + signal.SIGTERM and not adopted(fabric), "SIGTERM ends it, and its adoption")


class patient_client:
    """A program that stays, and connects when it is told to."""

    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            sys.exit("FAIL: the client does not start")

    def servers_view(self):
        """By which addresses the server is reached now."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], DEADLINE_S)[0]:
            sys.exit("FAIL: the client has no answer")
        return [address for address, _ in json.loads(self.process.stdout.readline())]

    def end(self):
        self.process.stdin.close()
        return self.process.wait(DEADLINE_S)


def views(fabric):
    """What a server sees of the client: on the ordinary network, by the planes. IPv6, TCP and UDP."""
    return [ORDINARY["h0"][1]] * 2, [fabric.host("h0")["mrc_address"]] * 2


def client_argv(fabric):
    return fabric.enter("h0", sys.executable, "-c", PATIENT_CLIENT, ORDINARY["h1"][1])


def in_cgroup(folder, argv):
    return ["sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"', str(folder), *argv]


def check_adopt(fabric):
    ordinary, planes = views(fabric)
    with server(fabric, "h1", "listening", sys.executable, "-c", ECHO_SERVER), cgroup(fabric, "adopt") as folder:
        client = patient_client(in_cgroup(folder, client_argv(fabric)))
        check(client.servers_view() == ordinary, "a program that nobody has adopted uses the ordinary network")
        output(ctl(fabric, "h0", "adopt", "--cgroup", str(folder)))
        check(client.servers_view() == planes, "adopted, it uses the planes")
        known = adopted(fabric)
        check(len(known) == 1 and known[0]["cgroup"] == str(folder) and known[0]["by"] == "adopt" and
              (known[0]["connections"], known[0]["datagrams"]) == (1, 1), f"adopt list: {known}")
        check("adopted already" in output(ctl(fabric, "h0", "adopt", "--cgroup", str(folder)), status=1), "once only")
        output(ctl(fabric, "h0", "adopt", "undo", str(known[0]["number"])))
        check(client.servers_view() == ordinary, "undone, it is back on the ordinary network")
        check(adopted(fabric) == [] and attached_to(folder) == [], "and nothing is listed, or attached")
        check("nothing is adopted by number" in output(ctl(fabric, "h0", "adopt", "undo", str(known[0]["number"])),
                                                       status=1), "once only, too")
        client.end()


def check_end_of_cgroup(fabric):
    with cgroup(fabric, "unit") as folder:
        output(ctl(fabric, "h0", "adopt", "--cgroup", str(folder)))
        check(len(adopted(fabric)) == 1, "an empty cgroup is adopted")
    check(wait_until(lambda: adopted(fabric) == [], DEADLINE_S),
          "removed, as that of a unit that stops, it is not listed")


def check_killed_run(fabric):
    ordinary, planes = views(fabric)
    with server(fabric, "h1", "listening", sys.executable, "-c", ECHO_SERVER):
        client = patient_client(adopted_run(fabric, "h0", sys.executable, "-c", PATIENT_CLIENT, ORDINARY["h1"][1]))
        check(client.servers_view() == planes, "a command of mrcctl run uses the planes")
        folder = pathlib.Path(adopted(fabric)[0]["cgroup"])
        client.process.kill()
        client.process.wait()
        check(wait_until(lambda: adopted(fabric) == [], DEADLINE_S) and attached_to(folder) == [],
              "mrcctl run is killed: nothing is adopted, or attached")
        check(client.servers_view() == ordinary, "its command goes on, on the ordinary network")
        client.process.stdin.close()
        check(wait_until(lambda: not (folder / "cgroup.procs").read_text("ascii"), DEADLINE_S), "and ends")
    output(adopted_run(fabric, "h0", "true"))
    check(not folder.exists(), "the next mrcctl run removes its cgroup")


def end_daemon(fabric, host, how):
    process = os.pidfd_open(host_maps(f"{fabric.prefix}-{host}").row("host", 0)["pid"])
    signal.pidfd_send_signal(process, how)
    check(bool(select.select([process], [], [], DEADLINE_S)[0]), f"mrcd of {host} ends by {how.name}")
    os.close(process)


def start_daemon(fabric, host, daemons):
    """As the lab starts it, but the lab does not know of it: it ends with the stack `daemons`."""
    config = f"/run/mrc-lab/{fabric.prefix}/config/{host}.toml"
    with open(fabric.host(host)["log"], "a", encoding="utf-8") as log:
        process = subprocess.Popen(fabric.enter(host, binary("mrcd"), "--config", config), stdout=log, stderr=log)
    daemons.callback(process.wait)
    daemons.callback(process.terminate)
    check(wait_until(lambda: subprocess.run(ctl(fabric, host, "adopt", "list"), capture_output=True, check=False
                                            ).returncode == 0, DEADLINE_S), f"mrcd of {host} is back")


def check_daemon_ends(fabric, how, daemons):
    """Neither a client nor a cgroup is left with the programs of a daemon that has gone."""
    ordinary, planes = views(fabric)
    with server(fabric, "h1", "listening", sys.executable, "-c", ECHO_SERVER), cgroup(fabric, "daemon") as folder:
        client = patient_client(in_cgroup(folder, client_argv(fabric)))
        output(ctl(fabric, "h0", "adopt", "--cgroup", str(folder)))
        check(client.servers_view() == planes, "adopted, it uses the planes")
        end_daemon(fabric, "h0", how)
        check(attached_to(folder) == [], "nothing is attached")
        check(client.servers_view() == ordinary, "and new connections use the ordinary network")
        for command in ("list", "hosts"):
            said = output(ctl(fabric, "h0", "adopt", command), status=1)
            check(said.count("\n") == 1, f"adopt {command}: {said.strip()}")
        start_daemon(fabric, "h0", daemons)
        await_hosts(fabric)
        check(adopted(fabric) == [] and client.servers_view() == ordinary, "its successor has adopted nothing")
        client.end()


def check_silent_peer(fabric, daemons):
    ordinary, planes = views(fabric)
    with server(fabric, "h1", "listening", sys.executable, "-c", ECHO_SERVER):
        client = patient_client(adopted_run(fabric, "h0", sys.executable, "-c", PATIENT_CLIENT, ORDINARY["h1"][1]))
        check(client.servers_view() == planes, "while the peer's mrcd runs, the planes are used")
        end_daemon(fabric, "h1", signal.SIGKILL)
        check(wait_until(lambda: states(fabric)[ORDINARY["h1"][1]] == "silent", DEADLINE_S), "the peer falls silent")
        check(client.servers_view() == ordinary, "new connections to it use the ordinary network")
        check(adopted(fabric)[0]["silent"] == 2, "and are counted as such")
        start_daemon(fabric, "h1", daemons)
        await_hosts(fabric)
        check(client.servers_view() == planes, "once it answers they use the planes again")
        check(client.end() == 0, "the client ends")


def check_binds(fabric, network):
    """Both ends adopted with --bind: a server at its ordinary address is reached, and publishes that one."""
    code = ("import socket, sys\nwith socket.create_server((sys.argv[1], 7778)) as listening:\n"
            "    print('listening', listening.getsockname()[0], flush=True)\n    there, peer = listening.accept()\n"
            "    there.sendall(peer[0].encode())\n")
    ask = ("import socket, sys\nwith socket.create_connection((sys.argv[1], 7778), timeout=10) as there:\n"
           "    print(there.recv(64).decode(), there.getpeername()[0])\n")
    before = network.packets()
    far = subprocess.Popen(adopted_run(fabric, "h1", sys.executable, "-c", code, ORDINARY["h1"][0], options=["--bind"]),
                           stdout=subprocess.PIPE, text=True)
    check(far.stdout.readline().split() == ["listening", ORDINARY["h1"][0]], "a server binds to its ordinary address")
    check(adopted(fabric, "h1")[0]["binds"] == 1, "which is mapped")
    said = output(adopted_run(fabric, "h0", sys.executable, "-c", ask, ORDINARY["h1"][0])).split()
    check(said == [fabric.host("h0")["ipv4_address"], ORDINARY["h1"][0]] and far.wait(DEADLINE_S) == 0 and
          network.packets() - before < FEW_PACKETS, f"clients reach it there by the planes {said}")


def as_user(user, group, argv):
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", f"--groups={group}", *argv]


def check_users(fabric):
    """A user who may use the daemon adopts cgroups of his own, nobody else's."""
    nobody = pwd.getpwnam("nobody")
    path = pathlib.Path(f"/run/mrc/{fabric.prefix}-h0/mrcd.sock")
    os.chown(path, -1, nobody.pw_gid)  # the lab's daemons are root's alone
    command = [binary("mrcctl"), "--instance", f"{fabric.prefix}-h0", "adopt"]
    with cgroup(fabric, "root") as roots, cgroup(fabric, "own") as own:
        refused = output(as_user(nobody, nobody.pw_gid, [*command, "--cgroup", str(roots)]), status=1)
        check("user 0's" in refused and attached_to(roots) == [], f"not root's: {refused.strip()}")
        os.chown(own, nobody.pw_uid, nobody.pw_gid)
        output(as_user(nobody, nobody.pw_gid, [*command, "--cgroup", str(own)]))
        output(ctl(fabric, "h0", "adopt", "--cgroup", str(roots)))
        numbers = {each["cgroup"]: str(each["number"]) for each in adopted(fabric)}
        refused = output(as_user(nobody, nobody.pw_gid, [*command, "undo", numbers[str(roots)]]), status=1)
        check("user 0 has adopted it" in refused, f"nor what root has adopted: {refused.strip()}")
        output(as_user(nobody, nobody.pw_gid, [*command, "undo", numbers[str(own)]]))
        check([each["cgroup"] for each in adopted(fabric)] == [str(roots)], "but his own, both ways")
        output(ctl(fabric, "h0", "adopt", "undo", numbers[str(roots)]))


def check_refusals(fabric):
    for arguments, words in ((["--cgroup", "/nowhere"], "No such file"),
                             (["--cgroup", "/tmp"], "no folder of a cgroup"),
                             (["--unit", "no-such-unit"], "has no cgroup")):
        said = output(ctl(fabric, "h0", "adopt", *arguments), status=1)
        check(words in said and said.count("\n") == 1 and adopted(fabric) == [], said.strip())
    elsewhere = output([binary("mrcctl"), "run", "--instance", f"{fabric.prefix}-h0", "--", "true"], status=1)
    check("another network namespace" in elsewhere, elsewhere.strip())


def check_unconfigured():
    with lab("sockets0", "--planes", "1", "--spines", "1") as fabric:
        check("[[sockets]]" in output(adopted_run(fabric, "h0", "true"), status=1), "without [[sockets]] it is refused")
        check(adopted(fabric) == [] and states(fabric) == {}, "and nothing is listed")


def check_direct():
    with lab("sockets-direct", "--fabric", "bridge", "--planes", "2", config=DIRECT_CONFIG) as fabric:
        network = ordinary_network(fabric)
        await_hosts(fabric)
        before = network.packets()
        with server(fabric, "h1", "listening", sys.executable, "-c", ECHO_SERVER):
            seen = json.loads(output(adopted_run(fabric, "h0", sys.executable, "-c", ECHO_CLIENT, ORDINARY["h1"][1])))
        check(seen == [[fabric.host("h0")["mrc_address"], ORDINARY["h1"][1]]] * 2 and
              network.packets() - before < FEW_PACKETS, f"direct mode: TCP and UDP ride the planes {seen}")


def main():
    need("bpftool")
    check_unconfigured()
    check_direct()
    with lab("sockets", "--ipv4", "--planes", "4", "--spines", "1", config=CONFIG) as fabric:
        network = ordinary_network(fabric)
        await_hosts(fabric)
        check_binds(fabric, network)
        check_status(fabric)
        check_adopt(fabric)
        check_end_of_cgroup(fabric)
        check_killed_run(fabric)
        check_refusals(fabric)
        check_users(fabric)
        with contextlib.ExitStack() as daemons:
            check_silent_peer(fabric, daemons)
            for how in (signal.SIGKILL, signal.SIGTERM):
                check_daemon_ends(fabric, how, daemons)


if __name__ == "__main__":
    main()
