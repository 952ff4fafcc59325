// SPDX-License-Identifier: Apache-2.0
// This host as the peer of its own queue pairs. Their packets go by loopback.h: one way, without a port, a plane or a
// switch that could fail, so nothing is probed, told or blamed. What the transport asks of any peer is here all the
// same, and stays as it was made: there is no second kind of peer.
#pragma once

#include <cstdint>

#include "datapath/worker_peer.h"
#include "protocol/congestion/fixed_window.h"
#include "protocol/types.h"

namespace mrc::datapath
{

class own_host
{
public:
    // Known by this address; outlives the queue pairs.
    explicit own_host(const mrc_ip &address) : address_{address} {}

    [[nodiscard]] worker_peer peer()
    {
        return {.address = address_,
                .paths = &way_,
                .ports = &ports_,
                .planes = &planes_,
                .proofs = &proofs_,
                .congestion = &window_,
                .own_host = true};
    }

private:
    // There is no network that could be congested: PSN windows bound what is in flight.
    static constexpr std::uint64_t unbounded = std::uint64_t{1} << 40;

    mrc_ip address_;
    protocol::local_ports always_{.up = protocol::plane_mask{1}};
    protocol::path_group way_{{}, always_}; // its row is that of no path
    protocol::port_status ports_{{}, way_};
    protocol::peer_planes planes_{{}, way_};
    protocol::sack_proofs proofs_{way_.size()};
    protocol::fixed_window window_{unbounded};
};

} // namespace mrc::datapath
