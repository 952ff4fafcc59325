// SPDX-License-Identifier: Apache-2.0
// What a path puts around an MRC packet: between which addresses it goes, and which headers stand in front of it. The
// counterpart of bpf/outer.h.
//
// kind                 the packet's own addresses                 in front of it
// MRC_CARRIER_SRV6     common, the same on all planes             Ethernet to the leaf, outer IPv6 to the path's uSIDs
// MRC_CARRIER_DIRECT   both hosts' on the path's plane            Ethernet to the neighbour on the way to the peer
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/frame_builder.h"
#include "datapath/transmit_engine.h"
#include "kernel/mapped_array.h"
#include "mrc/abi/ip.h"
#include "mrc/abi/maps.h"

namespace mrc::datapath
{

// The rows that say how packets leave; borrowed.
struct link_rows {
    kernel::mapped_array<mrc_path_row> &paths;
    kernel::mapped_array<mrc_port_row> &ports;
    const kernel::mapped_array<mrc_next_hop_row> &next_hops;
};

// By plane.
using plane_addresses = std::array<mrc_ip, MRC_MAX_PORTS>;

// This host's addresses.
struct own_addresses {
    mrc_ip common{};          // of SRv6 paths
    mrc_ip common4{};         // the same toward IPv4 addresses
    plane_addresses planes{}; // of direct paths
};

// Between which addresses a packet to `to`, any address of the peer's, goes on this path.
[[nodiscard]] codec::ip_endpoints endpoints_on(const mrc_path_row &path, const own_addresses &own, const mrc_ip &to);

// Writes the headers into the first mrc_path_header_bytes() of `frame`; the packet stands behind them.
void write_carrier(std::span<std::byte> frame, const departure &packet, const mrc_path_row &path,
                   const mrc_port_row &port, const mrc_next_hop_row &next_hop);

} // namespace mrc::datapath
