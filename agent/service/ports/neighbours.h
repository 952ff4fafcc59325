// SPDX-License-Identifier: Apache-2.0
// What the kernel's neighbour tables say about the devices of ports, and which neighbour is a port's gateway.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "service/config/config.h"

namespace mrc::service
{

struct neighbour {
    std::uint32_t ifindex = 0;
    mrc_ip address{};
    std::optional<mac_address> mac;
    std::uint16_t state = 0; // NUD_*
    bool is_router = false;

    // Has a MAC address that frames may be sent to.
    [[nodiscard]] bool is_usable() const;
};

// A port's gateway: resolved, or why not.
struct gateway_state {
    std::optional<mac_address> mac;
    std::optional<mrc_ip> stale;              // resolved, but only the kernel's next probe tells whether it is still so
    mrc_port_reason reason = MRC_PORT_IN_USE; // when mac is empty: MRC_PORT_NO_NEIGHBOUR or _SEVERAL_NEIGHBOURS
};

class neighbour_table
{
public:
    void clear() { entries_.clear(); }
    void update(const neighbour &entry);
    void remove(std::uint32_t ifindex, const mrc_ip &address);
    // The kernel has been told to probe this entry.
    void mark_probed(std::uint32_t ifindex, const mrc_ip &address);
    // Drops all entries of a device.
    void remove_device(std::uint32_t ifindex);

    [[nodiscard]] gateway_state gateway_of(std::uint32_t ifindex, const gateway_option &gateway) const;

private:
    struct address_less {
        bool operator()(const std::pair<std::uint32_t, mrc_ip> &a, const std::pair<std::uint32_t, mrc_ip> &b) const;
    };

    [[nodiscard]] gateway_state only_one(std::uint32_t ifindex, bool routers_only) const;

    std::map<std::pair<std::uint32_t, mrc_ip>, neighbour, address_less> entries_;
};

} // namespace mrc::service
