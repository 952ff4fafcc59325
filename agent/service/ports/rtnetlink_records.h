// SPDX-License-Identifier: Apache-2.0
// Devices and neighbours as rtnetlink tells them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernel/netlink.h"
#include "service/address.h"
#include "service/ports/neighbours.h"

namespace mrc::service
{

// A network device, as RTM_NEWLINK and RTM_DELLINK tell it.
struct link_record {
    std::uint32_t ifindex = 0;
    std::uint32_t flags = 0; // IFF_*
    std::uint32_t mtu = 0;
    mac_address mac{};
    std::string name;
};

// nullopt for what is no device's own message: bridge ports report theirs under AF_BRIDGE, wireless events have no MTU.
[[nodiscard]] std::optional<link_record> parse_link(const nlmsghdr &message);
// nullopt for what is no IPv4 or IPv6 neighbour.
[[nodiscard]] std::optional<neighbour> parse_neighbour(const nlmsghdr &message);

} // namespace mrc::service
