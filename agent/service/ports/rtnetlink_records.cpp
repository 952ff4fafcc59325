// SPDX-License-Identifier: Apache-2.0
#include "service/ports/rtnetlink_records.h"

#include <cstring>

#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <sys/socket.h>

namespace mrc::service
{

namespace
{

constexpr std::size_t ipv4_bytes = 4;

template <class T>
T value_or_zero(std::span<const std::byte> bytes)
{
    T value{};
    if (bytes.size() == sizeof value)
        std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

} // namespace

std::optional<link_record> parse_link(const nlmsghdr &message)
{
    const auto *header = kernel::header_of<ifinfomsg>(message);
    if (header == nullptr || header->ifi_family != AF_UNSPEC)
        return std::nullopt;
    link_record parsed{.ifindex = static_cast<std::uint32_t>(header->ifi_index),
                       .flags = header->ifi_flags,
                       .mtu = 0,
                       .mac = {},
                       .name = {}};
    kernel::for_each_attribute(message, sizeof *header, [&](std::uint16_t type, std::span<const std::byte> value) {
        if (type == IFLA_IFNAME && !value.empty())
            parsed.name.assign(reinterpret_cast<const char *>(value.data()), value.size() - 1);
        else if (type == IFLA_MTU)
            parsed.mtu = value_or_zero<std::uint32_t>(value);
        else if (type == IFLA_ADDRESS)
            parsed.mac = value_or_zero<mac_address>(value);
    });
    return parsed.name.empty() || parsed.mtu == 0 ? std::nullopt : std::optional{parsed};
}

std::optional<neighbour> parse_neighbour(const nlmsghdr &message)
{
    const auto *header = kernel::header_of<ndmsg>(message);
    if (header == nullptr || (header->ndm_family != AF_INET6 && header->ndm_family != AF_INET))
        return std::nullopt;
    neighbour parsed{.ifindex = static_cast<std::uint32_t>(header->ndm_ifindex),
                     .address = {},
                     .mac = {},
                     .state = header->ndm_state,
                     .is_router = (header->ndm_flags & NTF_ROUTER) != 0};
    bool has_address = false;
    kernel::for_each_attribute(message, sizeof *header, [&](std::uint16_t type, std::span<const std::byte> value) {
        if (type == NDA_LLADDR && value.size() == sizeof(mac_address))
            parsed.mac = value_or_zero<mac_address>(value);
        if (type != NDA_DST)
            return;
        has_address = true;
        if (value.size() == sizeof parsed.address) {
            parsed.address = value_or_zero<mrc_ip>(value);
        } else if (value.size() == ipv4_bytes) {
            parsed.address.bytes[10] = parsed.address.bytes[11] = 0xff;
            std::memcpy(parsed.address.bytes + sizeof parsed.address - ipv4_bytes, value.data(), ipv4_bytes);
        }
    });
    return has_address ? std::optional{parsed} : std::nullopt;
}

} // namespace mrc::service
