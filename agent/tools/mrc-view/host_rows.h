// SPDX-License-Identifier: Apache-2.0
// The rows of one host's maps at a moment: plain values, which everything that is shown is made of.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tools/mrcctl/maps.h"
#include "tools/mrcctl/peers.h"
#include "tools/mrcctl/process.h"
#include "tools/mrcctl/rates.h"

namespace mrc::view
{

struct numbered_path {
    std::uint32_t number = 0; // row of `paths`
    mrc_path_row path{};
    mrc_signal_row signal{};
};

struct host_rows {
    ctl::sample counters{};             // with the time that all of it is of
    std::uint32_t leaf = 0;             // SRv6: the T0 that the host is on
    std::vector<numbered_path> paths{}; // those in use, by number
    ctl::client_table clients{};
    std::vector<ctl::peer_place> peers{};               // each host once
    std::map<std::uint32_t, mrc_peer_row> peer_of_qp{}; // by QPN, of those that are connected
    ctl::daemon_process daemon{};
};

// What all addresses of a host have in common: its path group and downlink.
using host_id = std::pair<std::uint32_t, std::uint16_t>;
[[nodiscard]] inline host_id id_of(const mrc_peer_row &peer)
{
    return {peer.group_base, peer.host_usid};
}

// Throws ctl_error.
[[nodiscard]] host_rows take_rows(const ctl::host_maps &maps);

} // namespace mrc::view
