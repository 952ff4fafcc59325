// SPDX-License-Identifier: Apache-2.0
// The switches of an SRv6 fabric by its plan, and what each has to know: its own uSID, and by which link the next one
// leads. A fabric of the configuration's planes, each leaf linked to each spine of its plane.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "service/config/config.h"

namespace mrc::ctl
{

// What a plan does not say: names of ports, with a number at {}, and next hops.
struct link_names {
    std::string uplink = "u{}";    // of a leaf, to spine {}
    std::string downlink = "d{}";  // of a leaf, to the host on downlink {}; of a spine, to leaf {}
    std::string upper = "fe80::1"; // next hop at the end of a link that is further from the hosts
    std::string lower = "fe80::2"; // and at the nearer one
};

struct switch_route {
    std::string toward; // "p0t1-0", "downlink 3"
    std::string prefix; // of the uSID that comes next
    std::string device;
    std::string via;
};

struct fabric_switch {
    std::string name; // as in mrc-lab: plane, tier, number
    std::uint32_t plane = 0;
    std::uint32_t tier = 0; // 0: leaf, 1: spine
    std::uint32_t number = 0;
    std::uint16_t usid = 0;
    std::string address; // the block with the own uSID
    std::string prefix;  // and its length
    std::vector<switch_route> routes;
};

// Of a complete configuration in SRv6 mode.
[[nodiscard]] std::vector<fabric_switch> switches_of(const service::daemon_config &config, const link_names &names);

} // namespace mrc::ctl
