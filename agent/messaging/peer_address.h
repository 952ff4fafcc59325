// SPDX-License-Identifier: Apache-2.0
// All that the far end must know to connect: it travels by the program's own rendezvous (a store, a TCP connection).
//
// offset  bytes  what, big endian
// 0       4      "MRCM"
// 4       2      version
// 6       2      ring slots
// 8       4      bytes of a ring slot
// 12      4      QPN
// 16      4      first PSN
// 20      16     GID
// 36      8      address of the ring
// 44      4      rkey of the ring
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "messaging/gid_text.h"

namespace mrc::messaging
{

struct peer_address {
    static constexpr std::size_t encoded_bytes = 48;
    static constexpr std::uint16_t version = 1;

    std::uint16_t ring_slots = 0;
    std::uint32_t slot_bytes = 0;
    std::uint32_t qpn = 0;
    std::uint32_t first_psn = 0;
    gid_bytes gid{};
    std::uint64_t ring = 0; // virtual address in the process that owns it
    std::uint32_t rkey = 0;

    [[nodiscard]] std::array<char, encoded_bytes> encode() const;
    // Nothing: these bytes are no address of this version.
    [[nodiscard]] static std::optional<peer_address> decode(std::span<const char> bytes);
    // "fd6d:7263::1:1 QP 17"; IPv4 dotted.
    [[nodiscard]] std::string text() const;

    bool operator==(const peer_address &) const = default;
};

} // namespace mrc::messaging
