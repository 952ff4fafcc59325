// SPDX-License-Identifier: Apache-2.0
#include "messaging/peer_address.h"

#include <algorithm>
#include <string_view>

#include "codec/byte_order.h"

namespace mrc::messaging
{

namespace
{

constexpr std::string_view magic{"MRCM"};

// The table of peer_address.h.
namespace at
{
constexpr std::size_t version = 4;
constexpr std::size_t ring_slots = 6;
constexpr std::size_t slot_bytes = 8;
constexpr std::size_t qpn = 12;
constexpr std::size_t first_psn = 16;
constexpr std::size_t gid = 20;
constexpr std::size_t ring = 36;
constexpr std::size_t rkey = 44;
} // namespace at

} // namespace

std::array<char, peer_address::encoded_bytes> peer_address::encode() const
{
    std::array<char, encoded_bytes> bytes{};
    auto *to = reinterpret_cast<std::byte *>(bytes.data());
    std::ranges::copy(magic, bytes.begin());
    codec::store_be(to + at::version, version);
    codec::store_be(to + at::ring_slots, ring_slots);
    codec::store_be(to + at::slot_bytes, slot_bytes);
    codec::store_be(to + at::qpn, qpn);
    codec::store_be(to + at::first_psn, first_psn);
    codec::store(to + at::gid, gid);
    codec::store_be(to + at::ring, ring);
    codec::store_be(to + at::rkey, rkey);
    return bytes;
}

std::optional<peer_address> peer_address::decode(std::span<const char> bytes)
{
    const std::span<const std::byte> all = std::as_bytes(bytes);
    if (bytes.size() < encoded_bytes || !std::ranges::equal(bytes.first(magic.size()), magic) ||
        codec::load_be<std::uint16_t>(all.data() + at::version) != version)
        return std::nullopt;
    const peer_address found{.ring_slots = codec::load_be<std::uint16_t>(all.data() + at::ring_slots),
                             .slot_bytes = codec::load_be<std::uint32_t>(all.data() + at::slot_bytes),
                             .qpn = codec::load_be<std::uint32_t>(all.data() + at::qpn),
                             .first_psn = codec::load_be<std::uint32_t>(all.data() + at::first_psn),
                             .gid = codec::load<gid_bytes>(all.data() + at::gid),
                             .ring = codec::load_be<std::uint64_t>(all.data() + at::ring),
                             .rkey = codec::load_be<std::uint32_t>(all.data() + at::rkey)};
    if (found.ring_slots == 0 || found.slot_bytes == 0)
        return std::nullopt;
    return found;
}

std::string peer_address::text() const
{
    return gid_text(gid) + " QP " + std::to_string(qpn);
}

} // namespace mrc::messaging
