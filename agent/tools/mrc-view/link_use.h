// SPDX-License-Identifier: Apache-2.0
// Who uses a link, and why it is blamed.
#pragma once

#include <span>
#include <string>

#include <boost/json/object.hpp>

#include "tools/mrc-view/fabric.h"
#include "tools/mrc-view/numbered_ring.h"

namespace mrc::view
{

inline constexpr std::size_t most_paths_listed = 64; // the worst first
inline constexpr std::size_t most_link_events = 8;   // the latest first

// In one sentence: "2 of 4 paths over it are out of use", "5.1 % of the 2210 packets sent over it were lost".
[[nodiscard]] std::string reason_in_words(const link_figures &figures);

// Paths of these hosts over the link, queue pairs and clients whose packets may take them, events of its ends.
// {"listed_paths", "qps", "peers", "events"}
[[nodiscard]] boost::json::object link_use(const link_key &link, std::span<const host_look> hosts,
                                           const peer_names &names, const neighbour_table &known,
                                           const numbered_ring &events);

// Whether an event is of a path over the link, or of its port: `event` as event_view() has it, with its host's place.
[[nodiscard]] bool is_of_link(const boost::json::object &event, const link_key &link, const host_position &host,
                              const neighbour_table &known);

} // namespace mrc::view
