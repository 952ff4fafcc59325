// SPDX-License-Identifier: Apache-2.0
#include "nccl_plugin/connect_handle.h"

#include <algorithm>

#include "codec/byte_order.h"

namespace mrc::nccl_plugin
{

namespace
{

constexpr std::uint32_t handle_magic = 0x4D524348; // "MRCH"

// The table of connect_handle.h.
namespace handle_at
{
constexpr std::size_t version = 4;
constexpr std::size_t family = 6;
constexpr std::size_t port = 8;
constexpr std::size_t scope = 12;
constexpr std::size_t address = 16;
constexpr std::size_t token = 32;
constexpr std::size_t gid = 48;
constexpr std::size_t attempt = 120;
} // namespace handle_at

constexpr std::uint16_t ipv4 = 4;
constexpr std::uint16_t ipv6 = 6;

} // namespace

void connect_handle::encode(std::span<std::byte, handle_bytes> into) const
{
    std::ranges::fill(into, std::byte{0});
    std::byte *to = into.data();
    codec::store_be(to, handle_magic);
    codec::store_be(to + handle_at::version, version);
    codec::store_be(to + handle_at::family, listener.family == AF_INET ? ipv4 : ipv6);
    codec::store_be(to + handle_at::port, listener.port);
    codec::store_be(to + handle_at::scope, listener.scope);
    codec::store(to + handle_at::address, listener.bytes);
    codec::store(to + handle_at::token, token);
    codec::store(to + handle_at::gid, gid);
    codec::store_be(to + handle_at::attempt, attempt);
}

std::optional<connect_handle> connect_handle::decode(std::span<const std::byte, handle_bytes> bytes)
{
    const std::byte *from = bytes.data();
    const auto family = codec::load_be<std::uint16_t>(from + handle_at::family);
    if (codec::load_be<std::uint32_t>(from) != handle_magic ||
        codec::load_be<std::uint16_t>(from + handle_at::version) != version || (family != ipv4 && family != ipv6))
        return std::nullopt;
    return connect_handle{.listener = {.family = family == ipv4 ? AF_INET : AF_INET6,
                                       .bytes = codec::load<std::array<std::uint8_t, 16>>(from + handle_at::address),
                                       .port = codec::load_be<std::uint16_t>(from + handle_at::port),
                                       .scope = codec::load_be<std::uint32_t>(from + handle_at::scope)},
                          .token = codec::load<token_bytes>(from + handle_at::token),
                          .gid = codec::load<messaging::gid_bytes>(from + handle_at::gid),
                          .attempt = codec::load_be<std::uint64_t>(from + handle_at::attempt)};
}

} // namespace mrc::nccl_plugin
