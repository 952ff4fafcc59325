// SPDX-License-Identifier: Apache-2.0
#include "fi_provider/transfer_head.h"

#include <utility>

#include "codec/byte_order.h"

namespace mrc::fi_provider
{

namespace
{

// The table of transfer_head.h.
namespace head_at
{
constexpr std::size_t flags = 2;
constexpr std::size_t id = 4;
constexpr std::size_t size = 8;
constexpr std::size_t data = 16;
constexpr std::size_t address = 24;
constexpr std::size_t key = 32;
constexpr std::size_t other = 40;
} // namespace head_at

} // namespace

std::array<std::byte, transfer_head::encoded_bytes> transfer_head::encode() const
{
    std::array<std::byte, encoded_bytes> bytes{};
    std::byte *to = bytes.data();
    codec::store_be(to, std::to_underlying(kind));
    codec::store_be(to + head_at::flags, static_cast<std::uint16_t>(has_data ? 1 : 0));
    codec::store_be(to + head_at::id, id);
    codec::store_be(to + head_at::size, size);
    codec::store_be(to + head_at::data, data);
    codec::store_be(to + head_at::address, address);
    codec::store_be(to + head_at::key, key);
    codec::store_be(to + head_at::other, other);
    return bytes;
}

std::optional<transfer_head> transfer_head::decode(std::span<const std::byte> message)
{
    if (message.size() < encoded_bytes)
        return std::nullopt;
    const std::byte *from = message.data();
    const auto kind = codec::load_be<std::uint16_t>(from);
    if (kind < std::to_underlying(transfer_kind::send) || kind > std::to_underlying(transfer_kind::unreadable))
        return std::nullopt;
    return transfer_head{.kind = static_cast<transfer_kind>(kind),
                         .has_data = codec::load_be<std::uint16_t>(from + head_at::flags) != 0,
                         .id = codec::load_be<std::uint32_t>(from + head_at::id),
                         .size = codec::load_be<std::uint64_t>(from + head_at::size),
                         .data = codec::load_be<std::uint64_t>(from + head_at::data),
                         .address = codec::load_be<std::uint64_t>(from + head_at::address),
                         .key = codec::load_be<std::uint64_t>(from + head_at::key),
                         .other = codec::load_be<std::uint32_t>(from + head_at::other)};
}

} // namespace mrc::fi_provider
