// SPDX-License-Identifier: Apache-2.0
// Where a host is in its network, what the nodes there are called, and which links a path leads over.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/mrc-view/host_rows.h"

namespace mrc::view
{

// Two nodes may have a link on each plane. `a` is the end nearer to the hosts.
struct link_key {
    std::uint32_t plane = 0;
    std::string a{};
    std::string b{};

    auto operator<=>(const link_key &) const = default;
};

// As mrc-lab calls its switches: p0t0-1 is leaf 1 of plane 0, p0t1-1 its spine 1.
[[nodiscard]] std::string leaf_name(std::uint32_t plane, std::uint32_t leaf);
[[nodiscard]] std::string spine_name(std::uint32_t plane, std::uint32_t spine);

// The node that a host's port of a plane is cabled to, where its place in the fabric does not tell.
using neighbour_table = std::map<std::pair<std::string, std::uint32_t>, std::string>;

struct host_position {
    std::string name{};
    bool direct = false;                 // planes are ordinary networks: no leaves and spines are known
    std::optional<std::uint32_t> leaf{}; // of an SRv6 fabric; not known while there are no paths
};

[[nodiscard]] host_position place_of(const std::string &name, const host_rows &rows);

// Of a direct plane, or a fabric's. A plane without a neighbour that is known is a node of its own: "plane 1".
[[nodiscard]] std::string neighbour_of(const host_position &host, std::uint32_t plane, const neighbour_table &known);

// The link of the host's port.
[[nodiscard]] link_key port_link(const host_position &host, std::uint32_t plane, const neighbour_table &known);

struct hop {
    link_key link{};
    bool up = true;         // from a to b
    bool is_of_port = true; // of a host's; else between switches
};

// The links that packets of this path go over, from the host on: to the last leaf, and on to `peers`, the hosts behind
// it that are in use.
[[nodiscard]] std::vector<hop> hops_of(const host_position &from, const mrc_path_row &path,
                                       const std::vector<std::string> &peers, const neighbour_table &known);

} // namespace mrc::view
