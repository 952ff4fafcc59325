// SPDX-License-Identifier: Apache-2.0
#include "nccl_plugin/greeting.h"

#include "codec/byte_order.h"

namespace mrc::nccl_plugin
{

namespace
{

constexpr std::uint32_t greeting_magic = 0x4D524347; // "MRCG"

// The table of greeting.h.
namespace greeting_at
{
constexpr std::size_t version = 4;
constexpr std::size_t kind = 6;
constexpr std::size_t token = 8;
constexpr std::size_t address = 24;
} // namespace greeting_at

constexpr std::uint16_t with_address = 1;
constexpr std::uint16_t giving_up = 2;

} // namespace

std::array<std::byte, greeting::encoded_bytes> greeting::encode() const
{
    std::array<std::byte, encoded_bytes> bytes{};
    codec::store_be(bytes.data(), greeting_magic);
    codec::store_be(bytes.data() + greeting_at::version, version);
    codec::store_be(bytes.data() + greeting_at::kind, address ? with_address : giving_up);
    codec::store(bytes.data() + greeting_at::token, token);
    if (address)
        codec::store(bytes.data() + greeting_at::address, address->encode());
    return bytes;
}

std::optional<greeting> greeting::decode(std::span<const std::byte, encoded_bytes> bytes, const token_bytes &expected)
{
    const std::byte *from = bytes.data();
    greeting found{.token = codec::load<token_bytes>(from + greeting_at::token), .address = {}};
    const auto kind = codec::load_be<std::uint16_t>(from + greeting_at::kind);
    if (codec::load_be<std::uint32_t>(from) != greeting_magic ||
        codec::load_be<std::uint16_t>(from + greeting_at::version) != version || found.token != expected)
        return std::nullopt;
    if (kind == giving_up)
        return found;
    const auto encoded =
        codec::load<std::array<char, messaging::peer_address::encoded_bytes>>(from + greeting_at::address);
    found.address = messaging::peer_address::decode(encoded);
    if (kind != with_address || !found.address)
        return std::nullopt;
    return found;
}

} // namespace mrc::nccl_plugin
