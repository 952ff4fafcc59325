// SPDX-License-Identifier: Apache-2.0
// A host's address as verbs and the exchange of addresses carry it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace mrc::messaging
{

using gid_bytes = std::array<std::uint8_t, 16>; // IPv6, or IPv4 as ::ffff:a.b.c.d

// "fd6d:7263::1:1"; IPv4 dotted.
[[nodiscard]] std::string gid_text(const gid_bytes &gid);

} // namespace mrc::messaging
