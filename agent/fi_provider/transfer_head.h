// SPDX-License-Identifier: Apache-2.0
// What a message of the ring begins with, and what the value of a long WRITE means.
//
// Sends that fit into a slot travel in it. Of a longer one the far end is told; once a receive takes it, it says where
// the bytes go, and they go there by WRITE. A read is asked for: the far end WRITEs what is read.
//
// offset  bytes  what, big endian
// 0       2      kind
// 2       2      1: remote CQ data are there
// 4       4      id: of the transfer at the end that waits for an answer; credit: how many receives took a send
// 8       8      size in bytes
// 16      8      remote CQ data; read: address at the end that reads
// 24      8      address at the far end
// 32      8      key of that address: go: an rkey
// 40      4      go: id of the arrival; read: rkey at the end that reads
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace mrc::fi_provider
{

enum class transfer_kind : std::uint16_t {
    send = 1, // with its bytes
    announce, // a send of more bytes than a slot has
    go,       // where the announced bytes go
    no_go,    // they are not wanted: the receive has less room
    credit,
    written, // remote CQ data of the WRITE before it
    read,
    unreadable, // the answer to a read of memory that is not registered for it
};

struct transfer_head {
    static constexpr std::size_t encoded_bytes = 44;

    transfer_kind kind{};
    bool has_data = false;
    std::uint32_t id = 0;
    std::uint64_t size = 0;
    std::uint64_t data = 0;
    std::uint64_t address = 0;
    std::uint64_t key = 0;
    std::uint32_t other = 0;

    [[nodiscard]] std::array<std::byte, encoded_bytes> encode() const;
    // Nothing: too short, or of no kind that there is.
    [[nodiscard]] static std::optional<transfer_head> decode(std::span<const std::byte> message);
    bool operator==(const transfer_head &) const = default;
};

// The value of a WRITE that no transfer waits for.
inline constexpr std::uint32_t plain_write = 0;

} // namespace mrc::fi_provider
