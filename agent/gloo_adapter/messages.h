// SPDX-License-Identifier: Apache-2.0
// Messages between two ends of a pair. Both ends are processes of one job: numbers are in the byte order of the host.
//
// A receive says where its bytes go (receive_ready); a send waits for one and then brings them: with the message (data)
// or, when they are long, by a WRITE whose immediate names the receive. A send that finds no receive says so
// (send_ready), for those who receive from any rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace mrc::gloo_adapter
{

enum class message_type : std::uint32_t {
    send_ready = 1, // slot
    receive_ready,  // slot, id, bytes; address and rkey if that is more than a message holds
    data,           // id, announced, bytes, which follow
    buffer_ready,   // slot, id, address, rkey, bytes: a bound buffer that receives
    buffer_gone,    // slot, id
    buffer_data,    // id, address (an offset), bytes, which follow
};

struct message_head {
    message_type type{};
    std::uint32_t id = 0; // of a receive or bound buffer
    std::uint64_t slot = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t rkey = 0;
    std::uint32_t announced = 0; // 1: a send_ready came before
};
static_assert(sizeof(message_head) == 40);

[[nodiscard]] inline std::span<const std::byte> bytes_of(const message_head &head)
{
    return std::as_bytes(std::span{&head, 1});
}

// Nothing: it is too short.
[[nodiscard]] inline std::optional<message_head> head_of(std::span<const std::byte> message)
{
    message_head head;
    if (message.size() < sizeof(head))
        return std::nullopt;
    std::memcpy(&head, message.data(), sizeof(head));
    return head;
}

// The 28 bits with a long WRITE: the receive's id and whether a send_ready came before.
struct arrival_value {
    static constexpr std::uint32_t id_mask = 0x07FFFFFF;
    static constexpr std::uint32_t announced_bit = 0x08000000;

    [[nodiscard]] static constexpr std::uint32_t encode(std::uint32_t id, bool announced)
    {
        return (id & id_mask) | (announced ? announced_bit : 0);
    }
    [[nodiscard]] static constexpr std::uint32_t id(std::uint32_t value) { return value & id_mask; }
    [[nodiscard]] static constexpr bool announced(std::uint32_t value) { return (value & announced_bit) != 0; }
};

} // namespace mrc::gloo_adapter
