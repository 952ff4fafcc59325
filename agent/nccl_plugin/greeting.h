// SPDX-License-Identifier: Apache-2.0
// What the two ends of a connection tell each other by TCP, once each: the one that connects first.
//
// offset  bytes  what, big endian
// 0       4      "MRCG"
// 4       2      version
// 6       2      1: an address; 2: this end cannot be set up, and gives up
// 8       16     the listener's token
// 24      48     address of this end's queue pair (agent/messaging/peer_address.h), or 0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "messaging/peer_address.h"
#include "nccl_plugin/connect_handle.h"

namespace mrc::nccl_plugin
{

struct greeting {
    static constexpr std::size_t encoded_bytes = 24 + messaging::peer_address::encoded_bytes;
    static constexpr std::uint16_t version = 1;

    token_bytes token{};
    std::optional<messaging::peer_address> address; // none: it gives up

    [[nodiscard]] std::array<std::byte, encoded_bytes> encode() const;
    // Nothing: no greeting of this version, or not with this token.
    [[nodiscard]] static std::optional<greeting> decode(std::span<const std::byte, encoded_bytes> bytes,
                                                        const token_bytes &expected);
};

} // namespace mrc::nccl_plugin
