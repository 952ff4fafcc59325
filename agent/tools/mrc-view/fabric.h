// SPDX-License-Identifier: Apache-2.0
// Links of a network as the hosts that are looked at see them: what goes over each, and what is lost of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>

#include "tools/mrc-view/growth.h"
#include "tools/mrc-view/place.h"

namespace mrc::view
{

// Of all paths that lead over the link. Loss is that of whole paths: a link that loses stands out, and those that its
// paths share with it are tinted.
struct link_figures {
    double up_bits_per_s = 0; // from a to b
    double down_bits_per_s = 0;
    std::uint64_t sent = 0; // packets, over the longer of the two intervals
    std::uint64_t lost = 0;
    std::uint32_t paths = 0;
    std::uint32_t good = 0;    // of these
    std::string down_reason{}; // why the port at its end is out of use; empty: it is not
};

// What a host adds: its rows now, just before and some time ago. Rates are of the last interval; losses, of which a few
// packets tell nothing, of the whole time.
struct host_look {
    host_position place{};
    const host_rows *long_ago = nullptr;
    const host_rows *before = nullptr;
    const host_rows *now = nullptr;
};

enum class link_state {
    unused, // no path leads over it
    good,
    lossy,  // a hundredth of what is sent over it is lost, at least
    partly, // some of its paths are out of use
    dark,   // all are
    down,   // its port is out of use
};

[[nodiscard]] link_state state_of(const link_figures &figures);
[[nodiscard]] const char *name_of(link_state state);
// Share of packets lost, 0 to 1; nullopt: none were sent.
[[nodiscard]] std::optional<double> loss_of(const link_figures &figures);

using link_table = std::map<link_key, link_figures>;

// What peers are called, by address; those without a name are called by it.
using peer_names = std::map<std::string, std::string>;
[[nodiscard]] std::string name_of_peer(const mrc_ip &address, const peer_names &names);

// Hosts that have queue pairs with this host, by the path group that leads to them.
using peers_by_group = std::map<std::uint32_t, std::vector<std::string>>;
[[nodiscard]] peers_by_group peers_in_use(const host_rows &rows, const peer_names &names);

void add_links(link_table &to, const host_look &host, const peer_names &names, const neighbour_table &known);

// "a", "b", "plane", "state", "loss", "up_bits_per_s", "down_bits_per_s", "paths", "good", "reason" of each.
[[nodiscard]] boost::json::array links_view(const link_table &links);

} // namespace mrc::view
