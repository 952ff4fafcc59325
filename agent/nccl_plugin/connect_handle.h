// SPDX-License-Identifier: Apache-2.0
// Where a listener is: what listen() writes and NCCL carries to the host that connects.
//
// offset  bytes  what, big endian
// 0       4      "MRCH"
// 4       2      version
// 6       2      4 or 6: IPv4 or IPv6
// 8       2      TCP port
// 10      2      0
// 12      4      scope of a link-local address
// 16      16     address
// 32      16     token, which whoever connects must show
// 48      16     GID of the host
// 64      56     0
// 120     8      on the connecting host, once connect() was called: the number of its attempt
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "messaging/gid_text.h"
#include "messaging/interfaces.h"
#include "nccl_plugin/nccl_net.h"

namespace mrc::nccl_plugin
{

using token_bytes = std::array<std::uint8_t, 16>;

struct connect_handle {
    static constexpr std::uint16_t version = 1;

    messaging::socket_address listener;
    token_bytes token{};
    messaging::gid_bytes gid{};
    std::uint64_t attempt = 0;

    void encode(std::span<std::byte, handle_bytes> into) const;
    // Nothing: this is no handle of this version.
    [[nodiscard]] static std::optional<connect_handle> decode(std::span<const std::byte, handle_bytes> bytes);
    bool operator==(const connect_handle &) const = default;
};

} // namespace mrc::nccl_plugin
