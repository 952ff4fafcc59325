// SPDX-License-Identifier: Apache-2.0
// The invariant CRC at the end of every MRC packet (protocol.md §1.12; IBTA's ICRC for RoCEv2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrc::codec
{

// ICRC of an inner IP packet given from its IP header up to, and without, the ICRC itself. The fields that may change
// on the way count as all ones: IPv6 traffic class, flow label and hop limit; IPv4 TOS, TTL and checksum; UDP checksum;
// BTH byte 4. On the wire the value stands little-endian. Any other or shorter input gives some value, safely.
[[nodiscard]] std::uint32_t icrc(std::span<const std::byte> ip_packet_without_icrc);

} // namespace mrc::codec
