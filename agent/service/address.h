// SPDX-License-Identifier: Apache-2.0
// Addresses as text and back: IPv6 and IPv4 (as ::ffff:a.b.c.d), prefixes, MAC addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mrc/abi/maps.h"

#include "codec/mac_address.h"

namespace mrc::service
{

using codec::mac_address;

inline constexpr std::size_t mapped_ipv4_at = 12; // where an IPv4 address stands in an mrc_ip

// Address and length; bits behind the length are zero.
struct ip_prefix {
    mrc_ip address{};
    std::uint8_t length = 0;
};

// IPv6 in any RFC 4291 notation, or dotted IPv4; nullopt when it is neither.
[[nodiscard]] std::optional<mrc_ip> parse_ip(std::string_view text);
// address/length. nullopt when it is no prefix, or when bits behind the length are set.
[[nodiscard]] std::optional<ip_prefix> parse_prefix(std::string_view text);
// Six hexadecimal bytes between colons.
[[nodiscard]] std::optional<mac_address> parse_mac(std::string_view text);

// Shortest notation (RFC 5952); IPv4 dotted.
[[nodiscard]] std::string to_text(const mrc_ip &address);
// Into a row; of the zero address nothing.
void write_text(char (&to)[MRC_ADDRESS_TEXT], const mrc_ip &address);
[[nodiscard]] std::string to_text(const ip_prefix &prefix);
[[nodiscard]] std::string to_text(const mac_address &mac);

// ::ffff:a.b.c.d, which stands for an IPv4 address.
[[nodiscard]] bool is_ipv4(const mrc_ip &address);
[[nodiscard]] bool is_same(const mrc_ip &a, const mrc_ip &b);

} // namespace mrc::service
