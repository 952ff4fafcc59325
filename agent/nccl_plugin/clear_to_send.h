// SPDX-License-Identifier: Apache-2.0
// A (grouped) receive as the sending end is told of it, one message each, in the order of the receives: where the bytes
// of each buffer go, and the tag of the send that it is for.
//
// offset  bytes  what, big endian
// 0       4      slot: what immediates name
// 4       4      buffers, 1 to 8
// 8       20 each: 8 address, 4 rkey, 4 room in bytes, 4 tag
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mrc::nccl_plugin
{

inline constexpr std::uint32_t most_grouped = 8;

struct receive_buffer {
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
    std::uint32_t room = 0;
    std::uint32_t tag = 0;
    bool operator==(const receive_buffer &) const = default;
};

struct clear_to_send {
    static constexpr std::size_t most_bytes = 8 + std::size_t{most_grouped} * 20;

    std::uint32_t slot = 0; // below arrival_place::slots
    std::uint32_t count = 0;
    std::array<receive_buffer, most_grouped> buffers{};

    [[nodiscard]] std::vector<std::byte> encode() const;
    // Nothing: not as the table says.
    [[nodiscard]] static std::optional<clear_to_send> decode(std::span<const std::byte> bytes);
    bool operator==(const clear_to_send &) const = default;
};

// What the immediate of a buffer's last WRITE says: the receive's slot, and which buffer of it.
struct arrival_place {
    static constexpr std::uint32_t slots = std::uint32_t{1} << 25;

    std::uint32_t slot = 0;
    std::uint32_t buffer = 0;

    [[nodiscard]] std::uint32_t encode() const { return slot * most_grouped + buffer; }
    [[nodiscard]] static arrival_place decode(std::uint32_t value)
    {
        return {.slot = value / most_grouped, .buffer = value % most_grouped};
    }
};

// The receive that sends are for at the moment: each takes the first buffer of its tag that no other has taken.
class send_target
{
public:
    explicit send_target(const clear_to_send &receive) : receive_{receive} {}

    [[nodiscard]] std::optional<std::uint32_t> find(std::uint32_t tag) const;
    [[nodiscard]] const receive_buffer &buffer(std::uint32_t index) const { return receive_.buffers.at(index); }
    [[nodiscard]] std::uint32_t slot() const { return receive_.slot; }
    void take(std::uint32_t index) { taken_ |= 1U << index; }
    [[nodiscard]] bool all_taken() const { return taken_ == (1U << receive_.count) - 1; }

private:
    clear_to_send receive_;
    std::uint32_t taken_ = 0; // a bit a buffer
};

} // namespace mrc::nccl_plugin
