#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that people use, unchanged, whose sockets mrcctl adopts: what they send to a host's ordinary address rides
the planes, and goes on when one is cut."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from long_transfers import check_curl, check_ssh
from sockets_support import (CONFIG, DEVICE, ECHO_CLIENT, ECHO_SERVER, FEW_PACKETS, ORDINARY, adopted, adopted_run,
                             await_hosts, need, ordinary_network, output, plane_cut, plane_packets, server)

from lab_support import DEADLINE_S, TIME_SCALE, binary, check, lab
from transfer_support import wait_until

DEAD_PLANE = 2
FLOWS = 32  # each keeps a path: so many use all planes but by a chance of 4 * 0.75**32
IPERF_SECONDS = 4 * TIME_SCALE
GO_PROGRAM = pathlib.Path(__file__).resolve().parent / "echo_client.go"
GO_CACHE = pathlib.Path(binary("")).resolve().parent / "go-cache"  # the network's packages, compiled once

# A static program: nothing that is preloaded reaches it. Says whom it is connected to, and the answer.
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


def check_iperf(fabric, network, address, udp):
    """FLOWS flows to the ordinary address: all planes carry them, one is cut in the middle, each flow goes on."""
    name = f"iperf3 {'UDP' if udp else 'TCP'} to {address}"
    before, planes = network.packets(), plane_packets(fabric)
    with server(fabric, "h1", "listening", "iperf3", "-s", "-1", "--forceflush") as far:
        flags = ["-u", "-b", "2M", "-l", "1000"] if udp else []
        begun = time.monotonic()
        client = subprocess.Popen(adopted_run(fabric, "h0", "iperf3", "-c", address, "-J", "-P", str(FLOWS), "-t",
                                              str(IPERF_SECONDS), "-i", str(0.5 * TIME_SCALE), *flags),
                                  stdout=subprocess.PIPE, text=True)
        check(wait_until(lambda: all(now > then + 20 for now, then in zip(plane_packets(fabric), planes)), DEADLINE_S),
              f"{name}: all four planes carry it")
        with plane_cut(fabric, DEAD_PLANE):
            cut_s = time.monotonic() - begun  # iperf3's own clock begins later
            counted = adopted(fabric)
            report = json.loads(client.communicate(timeout=DEADLINE_S + IPERF_SECONDS)[0])
            far.wait(DEADLINE_S)
    check("error" not in report and client.returncode == 0, f"{name} ends well {report.get('error', '')}")
    # Counted are connections, of TCP and of connected UDP sockets, and the one that controls the test.
    check(counted and counted[0]["connections"] == FLOWS + 1, f"{name}: {FLOWS + 1} connections are mapped")
    # Not of the last interval alone, which may be the few microseconds that are left over.
    moved = {stream["socket"] for interval in report["intervals"] if interval["sum"]["start"] >= cut_s
             for stream in interval["streams"] if stream["bytes"]}
    check(len(moved) == FLOWS, f"{name}: every flow goes on after the cut, at {cut_s:.2f} s: {len(moved)} do")
    check(network.packets() - before < FEW_PACKETS, f"{name}: the ordinary network carries none of it")
    check(adopted(fabric) == [], f"{name}: nothing is adopted any more")


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


def check_static(fabric, network):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["gcc", "-static", "-x", "c", "-o", f"{folder}/static", "-"], input=STATIC_PROGRAM, text=True,
                       check=True)
        before = network.packets()
        with server(fabric, "h1", "listening", sys.executable, "-c", ECHO_SERVER):
            said = output(adopted_run(fabric, "h0", f"{folder}/static", ORDINARY["h1"][0], "7777")).split()
    check(said == [ORDINARY["h1"][0], f"::ffff:{fabric.host('h0')['ipv4_address']}"] and
          network.packets() - before < FEW_PACKETS, f"a static program: {said}")


def check_go(fabric, network):
    """Go's own runtime, without a C library: a connection, connected datagrams, and a socket of both families'."""
    if shutil.which("go") is None:
        print("not tried: Go, golang-go is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/echo_client"
        subprocess.run(["go", "build", "-o", program, str(GO_PROGRAM)], check=True,
                       env={**os.environ, "CGO_ENABLED": "0", "GOCACHE": str(GO_CACHE), "GOPATH": folder,
                            "GO111MODULE": "off"})
        check(b"/ld-linux" not in pathlib.Path(program).read_bytes(), "a program of Go's is static")
        before = network.packets()
        with server(fabric, "h1", "listening", sys.executable, "-c", ECHO_SERVER):
            seen = json.loads(output(adopted_run(fabric, "h0", program, *ORDINARY["h1"])))
    here = fabric.host("h0")
    check(seen == [[f"::ffff:{here['ipv4_address']}", ORDINARY["h1"][0]]] * 3 +
          [[here["mrc_address"], ORDINARY["h1"][1]]] * 3 and network.packets() - before < FEW_PACKETS,
          f"it rides the planes: TCP, UDP connected and not, IPv4 and IPv6 {seen}")


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


def main():
    need("curl", "gcc", "iperf3")
    with lab("sockets-p", "--ipv4", "--planes", "4", "--spines", "1", config=CONFIG) as fabric:
        network = ordinary_network(fabric)
        await_hosts(fabric)
        check_names(fabric, network)
        check_static(fabric, network)
        check_go(fabric, network)
        check_curl(fabric, network)
        check_ssh(fabric, network)
        check_iperf(fabric, network, ORDINARY["h1"][0], udp=False)
        check_iperf(fabric, network, ORDINARY["h1"][1], udp=True)
        check_torch(fabric, network, "mrcnet0", fabric.host("h0")["ipv4_address"], [], "mrcnet0")
        check_torch(fabric, network, "ordinary addresses", ORDINARY["h0"][0], ["--bind"], DEVICE)


if __name__ == "__main__":
    main()
