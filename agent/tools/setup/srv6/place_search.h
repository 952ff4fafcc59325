// SPDX-License-Identifier: Apache-2.0
// Where in an SRv6 fabric a host stands, and how large the fabric is, from loops that come back or do not:
//
//   block:leaf:host                        on which plane, leaf and downlink a port is
//   block:leaf:spine:leaf:host             which spines there are
//   block:leaf:spine:other:spine:leaf:host which other leaves, where the block leaves room for six uSIDs
//
// The places are tried from the smallest numbers on. Where the uSIDs of the site's plan do not tell planes apart, the
// ports are the planes in their order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "protocol/types.h"
#include "service/config/config.h"
#include "service/fabric_rules.h"
#include "tools/setup/srv6/loop_line.h"

namespace mrc::setup
{

struct place_wish {
    service::fabric_options fabric{};    // of a site whose plan is known; else the default one
    bool shape_is_known = false;         // planes, leaves and uplinks of `fabric` hold; else they are found out
    std::optional<std::uint32_t> leaf{}; // as somebody says; none: found out
    std::optional<std::uint32_t> downlink{};
    std::vector<std::string> devices{}; // of the ports, in their order
};

struct found_place {
    service::host_place place;
    std::vector<protocol::plane_index> planes; // by port, each another
    service::fabric_options fabric;
    std::vector<std::string> remarks; // spines and leaves that do not answer, a line each
};

inline constexpr std::uint32_t most_tried_leaves = 256; // where no number is given

// What part of all places has been tried on a port, 0 to 1.
using search_progress = std::function<void(const std::string &device, double part)>;

// Throws std::runtime_error with what is wrong and what helps: no loop comes back, ports at different places, two ports
// on one plane.
[[nodiscard]] found_place find_place(const place_wish &wish, const loop_asker &ask, const search_progress &progress);

} // namespace mrc::setup
