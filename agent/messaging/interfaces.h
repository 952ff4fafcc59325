// SPDX-License-Identifier: Apache-2.0
// The address that this host's listeners have for the exchange of addresses: of the interface that NCCL would take, by
// NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY or the like.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

namespace mrc::messaging
{

struct socket_address {
    int family = AF_UNSPEC;               // AF_INET or AF_INET6
    std::array<std::uint8_t, 16> bytes{}; // of IPv4 the first four
    std::uint16_t port = 0;
    std::uint32_t scope = 0; // of link-local ones

    [[nodiscard]] socklen_t store(sockaddr_storage &into) const; // its length
    [[nodiscard]] static std::optional<socket_address> from(const sockaddr *address);
    [[nodiscard]] bool link_local() const;
    [[nodiscard]] std::string text() const; // "10.0.0.1:4711", "[fd00::1]:4711"
    bool operator==(const socket_address &) const = default;
};

struct host_interface {
    std::string name;
    socket_address address;
};

// Whether NCCL_SOCKET_IFNAME's value names this interface: prefixes with commas between; after '^' all but these, after
// '=' whole names. "eth0:3" is eth0.
[[nodiscard]] bool names_interface(std::string_view list, std::string_view name);

// `list`: NCCL_SOCKET_IFNAME, empty where it is not set; then any but docker, lo and virbr comes first, then these in
// that order. `family`: NCCL_SOCKET_FAMILY. An interface's link-local address is its last choice.
[[nodiscard]] std::optional<host_interface> choose_interface(std::span<const host_interface> interfaces,
                                                             std::string_view list, std::string_view family);

// Those that run, in the kernel's order.
[[nodiscard]] std::vector<host_interface> running_interfaces();

} // namespace mrc::messaging
