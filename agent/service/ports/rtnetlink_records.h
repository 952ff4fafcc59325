// SPDX-License-Identifier: Apache-2.0
// Devices, their addresses, neighbours and routes as rtnetlink tells them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernel/netlink.h"
#include "service/address.h"
#include "service/ports/neighbours.h"
#include "service/ports/own_addresses.h"

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

// nullopt for what is no address that other hosts could send to: link-local, tentative for ever, of no device.
[[nodiscard]] std::optional<device_address> parse_address(const nlmsghdr &message);
// Where a packet goes on the link by this route: its gateway, or else the destination that was asked for, which the
// message repeats. nullopt: nowhere, or not onto a link.
[[nodiscard]] std::optional<mrc_ip> parse_next_hop(const nlmsghdr &message);
// nullopt for what is no device's own message: bridge ports report theirs under AF_BRIDGE, wireless events have no MTU.
[[nodiscard]] std::optional<link_record> parse_link(const nlmsghdr &message);
// nullopt for what is no IPv4 or IPv6 neighbour.
[[nodiscard]] std::optional<neighbour> parse_neighbour(const nlmsghdr &message);

} // namespace mrc::service
