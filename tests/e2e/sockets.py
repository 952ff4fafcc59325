#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Unchanged programs whose sockets mrcctl adopts: what they send to a host's ordinary address rides the planes, goes on
when one is cut, and is back on the ordinary network when the adoption ends, however it ends. The hosts of the lab have
an ordinary network beside the planes, whose counters say what still goes there."""

import contextlib
import json
import os
import pathlib
import pwd
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap

from lab_support import DEADLINE_S, TIME_SCALE, binary, check, lab, need_binaries, need_root, skip
from pinned_maps import GOOD, host_maps
from transfer_support import wait_until

ORDINARY = {"h0": ("192.0.2.1", "2001:db8:99::1"), "h1": ("192.0.2.2", "2001:db8:99::2")}
MRC = {"h0": "fd6d:7263::1", "h1": "fd6d:7263::1:1"}
# More leaves than the lab has: of so large a fabric mrcd lists no hosts, and reaches those of [[sockets]] all the same.
CONFIG = "[fabric]\nleaves = 1536\n" + "".join(
    f"[[sockets]]\nhost = '{MRC[host]}'\naddresses = {json.dumps(ORDINARY[host])}\n" for host in MRC)
# Of direct mode, whose overlay is IPv6 alone.
DIRECT_CONFIG = "".join(f"[[sockets]]\nhost = '{MRC[host]}'\naddresses = ['{ORDINARY[host][1]}']\n" for host in MRC)
DEVICE = "ordinary"
DEAD_PLANE = 2
FLOWS = 32  # each keeps a path: so many use all planes but by a chance of 4 * 0.75**32
IPERF_SECONDS = 3 * TIME_SCALE
FEW_PACKETS = 200  # of neighbour discovery and the like

# A static program, as Go's are: nothing that is preloaded reaches it. Says whom it is connected to, and the answer.
STATIC_PROGRAM = r"""
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(argc > 2 ? atoi(argv[2]) : 0)};
    socklen_t size = sizeof(to);
    char answer[64];
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, argv[1], &to.sin_addr);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 || getpeername(fd, (struct sockaddr *)&to, &size) != 0)
        return 1;
    const ssize_t got = write(fd, "static", 6) == 6 ? read(fd, answer, sizeof(answer)) : -1;
    printf("%s %.*s\n", inet_ntoa(to.sin_addr), got > 0 ? (int)got : 0, answer);
    return got > 0 ? 0 : 1;
}
"""
# Answers by whom it was asked, and for how long it may be kept: TCP and UDP on one port of every address.
ECHO_SERVER = """
import selectors, socket
ready = selectors.DefaultSelector()
listening = socket.create_server(("::", 7777), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128)
datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
datagrams.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
datagrams.bind(("::", 7777))
for each in (listening, datagrams):
    ready.register(each, selectors.EVENT_READ)
print("listening", flush=True)
while True:
    for key, _ in ready.select():
        if key.fileobj is listening:
            ready.register(listening.accept()[0], selectors.EVENT_READ)
        elif key.fileobj is datagrams:
            datagrams.sendto(*(lambda got: (got[1][0].encode(), got[1]))(datagrams.recvfrom(64)))
        elif key.fileobj.recv(64):
            key.fileobj.sendall(key.fileobj.getpeername()[0].encode())
        else:
            ready.unregister(key.fileobj)
            key.fileobj.close()
"""
# One connection and one datagram to each address; prints whom the server saw, and whom this side does.
ECHO_CLIENT = """
import json, socket, sys
seen = []
for address in sys.argv[1:]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_connection((address, 7777), timeout=10) as connection:
        connection.sendall(b"x")
        seen.append([connection.recv(64).decode(), connection.getpeername()[0]])
    with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
        datagrams.settimeout(10)
        datagrams.sendto(b"x", (address, 7777))
        answer, source = datagrams.recvfrom(64)
        seen.append([answer.decode(), source[0]])
print(json.dumps(seen))
"""
# Stays, and asks once for every line that it is given.
PATIENT_CLIENT = ("print('ready', flush=True)\nimport sys\nfor line in sys.stdin:\n" +
                  textwrap.indent(ECHO_CLIENT.strip().replace("seen))", "seen), flush=True)"), "    "))
TORCH_RANK = """
import sys
import torch
import torch.distributed as dist
dist.init_process_group("gloo", init_method=f"tcp://{sys.argv[1]}:29500", rank=int(sys.argv[2]), world_size=2)
values = torch.full((1 << 20,), float(dist.get_rank() + 1))
for _ in range(8):
    dist.all_reduce(values)
    values /= 2
print(values.min().item(), values.max().item(), flush=True)
dist.barrier()
"""


def ctl(fabric, host, *arguments):
    """A command of mrcctl for the host's daemon, in the host's network."""
    return fabric.enter(host, binary("mrcctl"), *arguments, "--instance", f"{fabric.prefix}-{host}")


def adopted_run(fabric, host, *command, options=()):
    return fabric.enter(host, binary("mrcctl"), "run", "--instance", f"{fabric.prefix}-{host}", *options, "--",
                        *command)


def output(argv, status=0):
    done = subprocess.run(argv, text=True, capture_output=True, check=False, timeout=DEADLINE_S + IPERF_SECONDS)
    if done.returncode != status:
        sys.exit(f"FAIL: {' '.join(argv)}: status {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
    return done.stdout if status == 0 else done.stderr


def adopted(fabric, host="h0"):
    return json.loads(output(ctl(fabric, host, "adopt", "list", "-j")))


def states(fabric, host="h0"):
    return {row["address"]: row["state"] for row in json.loads(output(ctl(fabric, host, "adopt", "hosts", "-j")))}


@contextlib.contextmanager
def server(fabric, host, ready, *argv):
    process = subprocess.Popen(fabric.enter(host, *argv), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        while ready not in (line := process.stdout.readline()):
            if not line:
                sys.exit(f"FAIL: {argv[0]} in {host} does not start")
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def cgroup(fabric, name):
    """A cgroup of version 2, whatever else this machine has."""
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text("ascii").splitlines()]
    root = next((pathlib.Path(fields[1]) for fields in mounts if fields[2] == "cgroup2"), None)
    if root is None:
        skip("no cgroup v2 is mounted")
    folder = root / f"{fabric.prefix}-{name}"
    folder.mkdir()
    try:
        yield folder
    finally:
        for pid in (folder / "cgroup.procs").read_text("ascii").split():
            (root / "cgroup.procs").write_text(pid)
        folder.rmdir()


def attached_to(folder):
    return json.loads(output(["bpftool", "-j", "cgroup", "show", str(folder)]).strip() or "[]")


class ordinary_network:
    """A cable between both hosts, and what has crossed it."""

    def __init__(self, fabric):
        self.fabric = fabric
        fabric.inside("h0", "ip", "link", "add", DEVICE, "type", "veth", "peer", "name", DEVICE, "netns",
                      f"/run/netns/{fabric.prefix}-h1")
        for host, (ipv4, ipv6) in ORDINARY.items():
            fabric.inside(host, "ip", "address", "add", f"{ipv4}/24", "dev", DEVICE)
            fabric.inside(host, "ip", "address", "add", f"{ipv6}/64", "dev", DEVICE, "nodad")
            fabric.inside(host, "ip", "link", "set", DEVICE, "up")

    def packets(self):
        shown = json.loads(self.fabric.inside("h0", "ip", "-j", "-s", "link", "show", DEVICE))[0]["stats64"]
        return shown["rx"]["packets"] + shown["tx"]["packets"]


def plane_packets(fabric, host="h0"):
    return [row["tx_packets"] for row in host_maps(f"{fabric.prefix}-{host}").rows("ports")[:4]]


def await_hosts(fabric, state="reachable"):
    for here, there in (("h0", "h1"), ("h1", "h0")):
        check(wait_until(lambda: {found for address, found in states(fabric, here).items()
                                  if address in ORDINARY[there]} == {state}, DEADLINE_S),
              f"{here} finds {there} {state}")
        own = {found for address, found in states(fabric, here).items() if address in ORDINARY[here]}
        check(own == {"own"}, f"{here} knows its own")


def check_iperf(fabric, network, address, udp):
    """FLOWS flows to the ordinary address: all planes carry them, one is cut in the middle, each flow goes on."""
    name = f"iperf3 {'UDP' if udp else 'TCP'} to {address}"
    before, planes = network.packets(), plane_packets(fabric)
    with server(fabric, "h1", "listening", "iperf3", "-s", "-1", "--forceflush") as far:
        flags = ["-u", "-b", "2M", "-l", "1000"] if udp else []
        client = subprocess.Popen(adopted_run(fabric, "h0", "iperf3", "-c", address, "-J", "-P", str(FLOWS), "-t",
                                              str(IPERF_SECONDS), "-i", str(0.5 * TIME_SCALE), *flags),
                                  stdout=subprocess.PIPE, text=True)
        check(wait_until(lambda: all(now > then + 20 for now, then in zip(plane_packets(fabric), planes)), DEADLINE_S),
              f"{name}: all four planes carry it")
        fabric.run("plane", str(DEAD_PLANE), "down")
        counted = adopted(fabric)
        report = json.loads(client.communicate(timeout=DEADLINE_S + IPERF_SECONDS)[0])
        far.wait(DEADLINE_S)
    check("error" not in report and client.returncode == 0, f"{name} ends well {report.get('error', '')}")
    # Counted are connections, of TCP and of connected UDP sockets, and the one that controls the test.
    check(counted and counted[0]["connections"] == FLOWS + 1, f"{name}: {FLOWS + 1} connections are mapped")
    last = report["intervals"][-1]["streams"]
    check(len(last) == FLOWS and all(stream["bytes"] for stream in last), f"{name}: every flow goes on after the cut")
    check(network.packets() - before < FEW_PACKETS, f"{name}: the ordinary network carries none of it")
    check(adopted(fabric) == [], f"{name}: nothing is adopted any more")
    fabric.run("plane", str(DEAD_PLANE), "up")
    maps = host_maps(f"{fabric.prefix}-h0")
    check(wait_until(lambda: maps.states(maps.paths_to(MRC["h1"], DEAD_PLANE)) == {GOOD}, DEADLINE_S),
          f"{name}: the plane is back")


def check_names(fabric, network):
    """The client sees the addresses that it knows, the server those by which it is reached."""
    before = network.packets()
    with server(fabric, "h1", "listening", sys.executable, "-c", ECHO_SERVER):
        seen = json.loads(output(adopted_run(fabric, "h0", sys.executable, "-c", ECHO_CLIENT, *ORDINARY["h1"])))
    here = fabric.host("h0")
    mapped = f"::ffff:{here['ipv4_address']}"
    check(seen == [[mapped, ORDINARY["h1"][0]]] * 2 + [[here["mrc_address"], ORDINARY["h1"][1]]] * 2,
          f"TCP and UDP, IPv4 and IPv6: clients see whom they asked, servers the MRC address {seen}")
    check(network.packets() - before < FEW_PACKETS, "by the planes")


def check_curl(fabric, network):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "file").write_bytes(os.urandom(4 << 20))
        sent = (pathlib.Path(folder) / "file").read_bytes()
        with server(fabric, "h1", "Serving", sys.executable, "-u", "-m", "http.server", "8000", "--bind", "::",
                    "--directory", folder):
            for address in ORDINARY["h1"]:
                before = network.packets()
                url = f"http://[{address}]:8000/file" if ":" in address else f"http://{address}:8000/file"
                subprocess.run(adopted_run(fabric, "h0", "curl", "-sS", "-o", f"{folder}/got", url), check=True,
                               timeout=DEADLINE_S)
                check((pathlib.Path(folder) / "got").read_bytes() == sent and
                      network.packets() - before < FEW_PACKETS, f"curl {url}: every byte, by the planes")


def check_static(fabric, network):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["gcc", "-static", "-x", "c", "-o", f"{folder}/static", "-"], input=STATIC_PROGRAM, text=True,
                       check=True)
        before = network.packets()
        with server(fabric, "h1", "listening", sys.executable, "-c", ECHO_SERVER):
            said = output(adopted_run(fabric, "h0", f"{folder}/static", ORDINARY["h1"][0], "7777")).split()
    check(said == [ORDINARY["h1"][0], f"::ffff:{fabric.host('h0')['ipv4_address']}"] and
          network.packets() - before < FEW_PACKETS, f"a static program: {said}")


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


def check_torch(fabric, network, name, address, options, device):
    """PyTorch's Gloo over TCP, which binds to the address of the device that it is given."""
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        print(f"not tried: PyTorch ({name}), python3-torch is not installed")
        return
    before, planes = network.packets(), sum(plane_packets(fabric))
    ranks = [subprocess.Popen(["env", f"GLOO_SOCKET_IFNAME={device}", *adopted_run(
        fabric, host, sys.executable, "-c", TORCH_RANK, address, str(rank), options=options)],
                              stdout=subprocess.PIPE, text=True) for rank, host in enumerate(("h0", "h1"))]
    said = [rank.communicate(timeout=4 * DEADLINE_S)[0].split() for rank in ranks]
    check(said == [["1.5", "1.5"]] * 2, f"PyTorch, {name}: all-reduce of 4 MiB, eight times {said}")
    check(network.packets() - before < FEW_PACKETS and sum(plane_packets(fabric)) - planes > 1000, "by the planes")


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
    need_root()
    need_binaries("mrcd", "mrcctl", "mrc-switch")
    for program in ("curl", "gcc", "iperf3"):
        if shutil.which(program) is None:
            skip(f"{program} is not installed")
    check_unconfigured()
    check_direct()
    with lab("sockets", "--ipv4", "--planes", "4", "--spines", "1", config=CONFIG) as fabric:
        network = ordinary_network(fabric)
        await_hosts(fabric)
        check_names(fabric, network)
        check_curl(fabric, network)
        check_static(fabric, network)
        check_iperf(fabric, network, ORDINARY["h1"][0], udp=False)
        check_iperf(fabric, network, ORDINARY["h1"][1], udp=True)
        check_binds(fabric, network)
        check_torch(fabric, network, "mrcnet0", fabric.host("h0")["ipv4_address"], [], "mrcnet0")
        check_torch(fabric, network, "ordinary addresses", ORDINARY["h0"][0], ["--bind"], DEVICE)
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
