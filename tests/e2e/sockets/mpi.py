#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Open MPI's own TCP on mrcnet0, which btl_tcp_if_include and oob_tcp_if_include name, without adoption: rounds of
all-reduce go on while a plane is cut, and nothing of them is on the ordinary network."""

from sockets_support import FEW_PACKETS, need, ordinary_network, plane_packets

from lab_support import check, lab
from mpi_programs import BY_TCP, cut_between_rounds, need_mpi

BY_DEVICE = [*BY_TCP, "--mca", "btl_tcp_if_include", "mrcnet0", "--mca", "oob_tcp_if_include", "mrcnet0"]
ROUND_PACKETS = 20  # at the least, of the megabyte that each rank sends


def main():
    need()
    need_mpi()
    with lab("sockets-m", "--planes", "2", "--spines", "1", "--ipv4") as fabric:
        network = ordinary_network(fabric)
        before, planes = network.packets(), sum(plane_packets(fabric))
        rounds = cut_between_rounds(fabric, BY_DEVICE)
        check(sum(plane_packets(fabric)) - planes > rounds * ROUND_PACKETS, "by the planes")
        check(network.packets() - before < FEW_PACKETS, "the ordinary network carries none of it")


if __name__ == "__main__":
    main()
