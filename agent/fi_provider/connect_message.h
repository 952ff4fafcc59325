// SPDX-License-Identifier: Apache-2.0
// What two ends tell each other by TCP, once each: the one that connects first.
//
// offset  bytes  what, big endian
// 0       4      "MRCF"
// 4       2      kind
// 6       2      bytes of the program's data
// 8       48     address of this end's queue pair (agent/messaging/peer_address.h); of a reject 0
// 56      256    the program's data
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fi_provider/info.h"
#include "messaging/peer_address.h"

namespace mrc::fi_provider
{

enum class connect_kind : std::uint16_t { request = 1, accept, reject };

struct connect_message {
    static constexpr std::size_t encoded_bytes = 8 + messaging::peer_address::encoded_bytes + connect_data_bytes;

    connect_kind kind{};
    std::optional<messaging::peer_address> address; // of request and accept
    std::vector<std::byte> data;                    // connect_data_bytes at most

    [[nodiscard]] std::array<std::byte, encoded_bytes> encode() const;
    // Nothing: no message of this provider.
    [[nodiscard]] static std::optional<connect_message> decode(std::span<const std::byte> bytes);
};

} // namespace mrc::fi_provider
