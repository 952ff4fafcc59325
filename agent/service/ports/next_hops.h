// SPDX-License-Identifier: Apache-2.0
// The way to the peers of a direct fabric on one port: which neighbour the kernel's routes lead to, and its MAC
// address.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernel/netlink.h"
#include "mrc/abi/ip.h"
#include "service/config/config.h"
#include "service/ports/neighbours.h"

namespace mrc::service
{

class next_hops
{
public:
    // To the addresses that the hosts have on the port's plane; to its own leads no way. No hosts: no direct fabric.
    next_hops(std::span<const host_entry> hosts, const port_options &port);

    [[nodiscard]] bool any() const { return !ways_.empty(); }
    // Asks the kernel for the routes by this device anew; 0: there is none.
    void follow_routes(kernel::netlink_socket &requests, std::uint32_t ifindex);
    // By host: the neighbour's MAC address, as far as it is known.
    [[nodiscard]] std::vector<std::optional<mac_address>> resolve(const neighbour_table &neighbours,
                                                                  std::uint32_t ifindex) const;
    // The neighbours that packets go to, each once.
    [[nodiscard]] std::vector<mrc_ip> neighbours() const;

private:
    struct way {
        std::optional<mrc_ip> destination;
        std::optional<mrc_ip> neighbour; // none: no route
    };

    std::vector<way> ways_; // by host
};

} // namespace mrc::service
