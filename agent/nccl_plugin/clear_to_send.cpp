// SPDX-License-Identifier: Apache-2.0
#include "nccl_plugin/clear_to_send.h"

#include "codec/byte_order.h"

namespace mrc::nccl_plugin
{

namespace
{

// The table of clear_to_send.h.
constexpr std::size_t count_at = 4;
constexpr std::size_t buffers_at = 8;
constexpr std::size_t buffer_bytes = 20;
namespace buffer_at
{
constexpr std::size_t rkey = 8;
constexpr std::size_t room = 12;
constexpr std::size_t tag = 16;
} // namespace buffer_at

} // namespace

std::vector<std::byte> clear_to_send::encode() const
{
    std::vector<std::byte> bytes(buffers_at + count * buffer_bytes);
    codec::store_be(bytes.data(), slot);
    codec::store_be(bytes.data() + count_at, count);
    for (std::uint32_t i = 0; i < count; ++i) {
        std::byte *to = bytes.data() + buffers_at + i * buffer_bytes;
        const receive_buffer &buffer = buffers.at(i);
        codec::store_be(to, buffer.address);
        codec::store_be(to + buffer_at::rkey, buffer.rkey);
        codec::store_be(to + buffer_at::room, buffer.room);
        codec::store_be(to + buffer_at::tag, buffer.tag);
    }
    return bytes;
}

std::optional<clear_to_send> clear_to_send::decode(std::span<const std::byte> bytes)
{
    if (bytes.size() < buffers_at)
        return std::nullopt;
    clear_to_send found;
    found.slot = codec::load_be<std::uint32_t>(bytes.data());
    found.count = codec::load_be<std::uint32_t>(bytes.data() + count_at);
    if (found.slot >= arrival_place::slots || found.count == 0 || found.count > most_grouped ||
        bytes.size() != buffers_at + found.count * buffer_bytes)
        return std::nullopt;
    for (std::uint32_t i = 0; i < found.count; ++i) {
        const std::byte *from = bytes.data() + buffers_at + i * buffer_bytes;
        found.buffers.at(i) = {.address = codec::load_be<std::uint64_t>(from),
                               .rkey = codec::load_be<std::uint32_t>(from + buffer_at::rkey),
                               .room = codec::load_be<std::uint32_t>(from + buffer_at::room),
                               .tag = codec::load_be<std::uint32_t>(from + buffer_at::tag)};
    }
    return found;
}

std::optional<std::uint32_t> send_target::find(std::uint32_t tag) const
{
    for (std::uint32_t i = 0; i < receive_.count; ++i)
        if ((taken_ >> i & 1U) == 0 && receive_.buffers.at(i).tag == tag)
            return i;
    return std::nullopt;
}

} // namespace mrc::nccl_plugin
