// SPDX-License-Identifier: Apache-2.0
// One host as its page shows it: planes, uplinks, peers, queue pairs, clients; rates are those between two looks.
#pragma once

#include <boost/json/object.hpp>

#include "tools/mrc-view/fabric.h"

namespace mrc::view
{

inline constexpr std::size_t most_queue_pairs = 64; // that are listed, the busiest first
inline constexpr std::size_t most_peers_listed = 256;
inline constexpr std::size_t most_clients_listed = 256;

// {"name", "instance", "state", "pid", "leaf", "direct", "planes", "uplinks", "peers", "qps",
// "qp_count", "clients"}
[[nodiscard]] boost::json::object host_view(const host_look &host, const std::string &instance,
                                            const peer_names &names);

// Of a queue pair: who it is, whom it speaks to, what it does.
[[nodiscard]] boost::json::object qp_summary(const host_rows &before, const host_rows &now, std::uint32_t qpn,
                                             const peer_names &names);

} // namespace mrc::view
