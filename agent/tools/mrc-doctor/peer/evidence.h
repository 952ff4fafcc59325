// SPDX-License-Identifier: Apache-2.0
// What was seen of a peer in direct mode on one plane, and from what it follows.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "service/address.h"

namespace mrc::doctor
{

// A plane that both hosts have an IPv6 address on.
struct plane_way {
    unsigned plane = 0;
    std::string device;
    std::uint32_t mtu = 0; // of the device
    mrc_ip own{};
    mrc_ip far{};
};

// MRC's probes by all EVs of a plane, over UDP port 4791.
struct probe_count {
    unsigned sent = 0;
    unsigned answered = 0;
    std::uint64_t least_rtt_ns = 0; // of those answered
};

struct peer_plane_evidence {
    plane_way way;
    bool has_carrier = false;
    std::set<service::mac_address> far_macs; // who says that the peer's address is theirs (RFC 4861)
    std::set<service::mac_address> own_macs; // who else says so of this host's own
    std::optional<unsigned> leads_to;        // the plane of the peer's whose address is answered for here instead
    bool echoes = false;                     // the peer answers a small echo request
    std::uint32_t carries = 0;               // bytes of the largest packet that it answered
    bool refuses_mrc = false;                // UDP port 4791 is answered by "port unreachable"
    bool calls_routers = false;              // an mrcd in SRv6 mode looks for its leaf here
    std::optional<probe_count> probes;       // none: no mrcd here sent any
    std::string unprobed;                    // why not, if anybody said so
};

} // namespace mrc::doctor
