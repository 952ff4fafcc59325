// SPDX-License-Identifier: Apache-2.0
// Who a host is, by machine-id(5), and the addresses that follow from it: nobody numbers hosts by hand.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "service/address.h"

namespace mrc::setup
{

inline constexpr const char *machine_id_file = "/etc/machine-id";

// 64 bits of a SHA-256 of the machine-id, which itself is not to be shown to a network; never 0. The error says why
// the text is none.
[[nodiscard]] std::expected<std::uint64_t, std::string> host_of(std::string_view machine_id);

// fd6d:7263:5e70:PLANE:HOST, of a /64 for each plane (RFC 4193).
[[nodiscard]] mrc_ip plane_address(std::uint64_t host, std::uint8_t plane);
// On the overlay, by which the host is known: fd6d:7263:5e70:ff:HOST.
[[nodiscard]] mrc_ip common_address(std::uint64_t host);
inline constexpr std::uint8_t plane_prefix_bits = 64;
// Of any host, on a plane or the overlay.
[[nodiscard]] bool is_of_setup(const mrc_ip &address);

} // namespace mrc::setup
