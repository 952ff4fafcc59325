// SPDX-License-Identifier: Apache-2.0
#include "messaging/peer_address.h"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>

namespace mrc::messaging
{

namespace
{

constexpr std::array<char, 4> magic{'M', 'R', 'C', 'M'};
constexpr std::array<std::uint8_t, 12> mapped_ipv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

template <typename Number>
void put(char *&at, Number value)
{
    for (std::size_t i = sizeof(Number); i-- > 0;)
        *at++ = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
}

template <typename Number>
void take(const char *&at, Number &value)
{
    std::uint64_t read = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i)
        read = read << 8 | static_cast<std::uint8_t>(*at++);
    value = static_cast<Number>(read);
}

} // namespace

std::array<char, peer_address::encoded_bytes> peer_address::encode() const
{
    std::array<char, encoded_bytes> bytes{};
    char *at = std::ranges::copy(magic, bytes.data()).out;
    put(at, version);
    put(at, ring_slots);
    put(at, slot_bytes);
    put(at, qpn);
    put(at, first_psn);
    for (const std::uint8_t part : gid)
        put(at, part);
    put(at, ring);
    put(at, rkey);
    return bytes;
}

std::optional<peer_address> peer_address::decode(std::span<const char> bytes)
{
    if (bytes.size() < encoded_bytes || !std::ranges::equal(bytes.first(magic.size()), magic))
        return std::nullopt;
    const char *at = bytes.data() + magic.size();
    peer_address found;
    std::uint16_t their_version = 0;
    take(at, their_version);
    take(at, found.ring_slots);
    take(at, found.slot_bytes);
    take(at, found.qpn);
    take(at, found.first_psn);
    for (std::uint8_t &part : found.gid)
        take(at, part);
    take(at, found.ring);
    take(at, found.rkey);
    if (their_version != version || found.ring_slots == 0 || found.slot_bytes == 0)
        return std::nullopt;
    return found;
}

std::string peer_address::text() const
{
    std::array<char, INET6_ADDRSTRLEN> words{};
    const bool ipv4 = std::ranges::equal(std::span{gid}.first(mapped_ipv4.size()), mapped_ipv4);
    const std::uint8_t *from = ipv4 ? gid.data() + mapped_ipv4.size() : gid.data();
    (void)::inet_ntop(ipv4 ? AF_INET : AF_INET6, from, words.data(), words.size());
    return std::string{words.data()} + " QP " + std::to_string(qpn);
}

} // namespace mrc::messaging
