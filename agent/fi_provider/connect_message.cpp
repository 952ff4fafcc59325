// SPDX-License-Identifier: Apache-2.0
#include "fi_provider/connect_message.h"

#include <algorithm>
#include <utility>

#include "codec/byte_order.h"

namespace mrc::fi_provider
{

namespace
{

constexpr std::uint32_t message_magic = 0x4D524346; // "MRCF"

// The table of connect_message.h.
namespace message_at
{
constexpr std::size_t kind = 4;
constexpr std::size_t bytes = 6;
constexpr std::size_t address = 8;
constexpr std::size_t data = address + messaging::peer_address::encoded_bytes;
} // namespace message_at

} // namespace

std::array<std::byte, connect_message::encoded_bytes> connect_message::encode() const
{
    std::array<std::byte, encoded_bytes> bytes{};
    codec::store_be(bytes.data(), message_magic);
    codec::store_be(bytes.data() + message_at::kind, std::to_underlying(kind));
    codec::store_be(bytes.data() + message_at::bytes, static_cast<std::uint16_t>(data.size()));
    if (address)
        codec::store(bytes.data() + message_at::address, address->encode());
    std::ranges::copy(data, bytes.begin() + message_at::data);
    return bytes;
}

std::optional<connect_message> connect_message::decode(std::span<const std::byte> bytes)
{
    if (bytes.size() != encoded_bytes || codec::load_be<std::uint32_t>(bytes.data()) != message_magic)
        return std::nullopt;
    const auto kind = codec::load_be<std::uint16_t>(bytes.data() + message_at::kind);
    const auto count = codec::load_be<std::uint16_t>(bytes.data() + message_at::bytes);
    if (kind < std::to_underlying(connect_kind::request) || kind > std::to_underlying(connect_kind::reject) ||
        count > connect_data_bytes)
        return std::nullopt;
    const auto data = bytes.subspan(message_at::data, count);
    connect_message found{.kind = static_cast<connect_kind>(kind), .address = {}, .data = {data.begin(), data.end()}};
    if (found.kind == connect_kind::reject)
        return found;
    const auto packed =
        codec::load<std::array<char, messaging::peer_address::encoded_bytes>>(bytes.data() + message_at::address);
    found.address = messaging::peer_address::decode(packed);
    return found.address ? std::optional{found} : std::nullopt;
}

} // namespace mrc::fi_provider
