// SPDX-License-Identifier: Apache-2.0
// A lab as `mrc-lab status --json` describes it.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/mrc-view/fabric.h"

namespace mrc::view
{

struct lab_host {
    std::string name{};
    std::string instance{}; // of its mrcd
};

struct lab_link {
    link_key key{};
    std::string state{};      // "up", "down" (cut in the switches), "carrier-down"
    std::string impairment{}; // "loss 5%, p0t0-0 to p0t1-0 only"; empty: none
};

struct lab_description {
    std::string prefix{};
    std::string directory{}; // where its state is kept
    std::string kind{};      // of fabric, as mrc-lab calls it
    std::uint32_t planes = 0;
    bool impairs = false; // its switches can lose packets
    std::vector<lab_host> hosts{};
    std::vector<std::string> switches{};
    std::vector<std::string> cut_switches{};
    std::vector<lab_link> links{};
    peer_names names{};           // hosts by their addresses
    neighbour_table neighbours{}; // of hosts
};

// Throws std::runtime_error when it is no such text.
[[nodiscard]] lab_description parse_lab(const std::string &status);

// {"prefix", "fabric", "planes": [{"plane", "cut"}], "impairs"}: a plane is cut when all of its links are.
[[nodiscard]] boost::json::object lab_view(const lab_description &lab);

} // namespace mrc::view
