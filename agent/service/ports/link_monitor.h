// SPDX-License-Identifier: Apache-2.0
// Follows the host's ports through rtnetlink: device, carrier, MTU, and the MAC addresses of neighbours from the
// kernel's table: a port's gateway, or in a direct fabric the next hop of the kernel's route to each peer. Unresolved
// ones are solicited once a second, stale ones are probed, both by the kernel.
// Why a port cannot be used is told by enum mrc_port_reason (mrc/abi/maps.h).
//
// One thread. The network namespace is that of the thread that made the object.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "service/config/config.h"

namespace mrc::service
{

// What the `ports` map says of a port, except for addresses and counters.
struct port_condition {
    std::uint32_t ifindex = 0;
    std::uint32_t flags = 0; // enum mrc_port_flags
    std::uint32_t mtu = 0;
    std::uint32_t departures = 0; // how often it has left: a device that comes back has lost what was bound to it
    mac_address mac{};
    mac_address gateway_mac{};                         // zero unless MRC_PORT_NEIGHBOUR; direct: always zero
    std::vector<std::optional<mac_address>> next_hops; // direct: by listed host
    mrc_port_reason reason = MRC_PORT_MISSING;         // why it is not usable

    [[nodiscard]] bool is_present() const { return ifindex != 0; }
    [[nodiscard]] bool is_usable() const { return flags == MRC_PORT_USABLE; }
    friend bool operator==(const port_condition &, const port_condition &) = default;
};

class link_monitor
{
public:
    // `hosts` are those of a direct fabric, else none. Throws std::system_error when there is no rtnetlink.
    explicit link_monitor(std::span<const port_options> ports, std::span<const host_entry> hosts = {});
    ~link_monitor();
    link_monitor(const link_monitor &) = delete;
    link_monitor &operator=(const link_monitor &) = delete;

    // Readable (POLLIN) when on_readable has something to do. Owned by this object.
    [[nodiscard]] int fd() const;

    // Reads the whole state; to be called once before the first use of ports(). Says whether any port changed.
    [[nodiscard]] std::expected<bool, std::error_code> refresh();
    // Takes in what the kernel has told since. Says whether any port changed. Never waits for other hosts.
    [[nodiscard]] bool on_readable();

    // Has on_readable say a second from now that something changed, and each second from then on, until told otherwise.
    void retry_each_second(bool wanted);

    // In the order of the options.
    [[nodiscard]] std::span<const port_condition> ports() const;

private:
    class implementation;
    std::unique_ptr<implementation> implementation_;
};

} // namespace mrc::service
