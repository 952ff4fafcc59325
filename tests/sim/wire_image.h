// SPDX-License-Identifier: Apache-2.0
// A simulated packet as the bytes that mrcd would send, and what mrcd's parser makes of them: damage has to be found by
// the ICRC and the checks of agent/codec, not by the simulator's good word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/packet.h"
#include "protocol/random_source.h"

namespace mrc::sim
{

class wire_image
{
public:
    // Encodes a packet with its payload. It must be one that can be: false else.
    [[nodiscard]] bool write(const protocol::packet &content, std::span<const std::byte> payload, protocol::ev entropy,
                             std::uint8_t dscp);
    // Changes bits within 32 next to each other, the first and the last of them for sure: every CRC-32 notices.
    void damage(protocol::random_source &random);

    struct reading {
        protocol::packet content;
        protocol::ev entropy;
        std::span<const std::byte> payload; // into the image
    };
    // Nothing: the receiver's parser refuses it.
    [[nodiscard]] std::optional<reading> read() const;
    // After a switch has cut everything behind `kept` bytes of what stands before the payload.
    [[nodiscard]] std::optional<reading> read_trimmed(std::size_t kept) const;
    [[nodiscard]] std::size_t header_bytes() const { return header_bytes_; }

private:
    std::vector<std::byte> bytes_;
    std::size_t header_bytes_ = 0;
};

} // namespace mrc::sim
