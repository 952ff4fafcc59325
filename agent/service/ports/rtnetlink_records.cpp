// SPDX-License-Identifier: Apache-2.0
#include "service/ports/rtnetlink_records.h"

#include <array>
#include <cstring>

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <net/if.h>
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

// An address attribute of either family.
std::optional<mrc_ip> address_of(std::span<const std::byte> value)
{
    mrc_ip address{};
    if (value.size() == sizeof address)
        return value_or_zero<mrc_ip>(value);
    if (value.size() != ipv4_bytes)
        return std::nullopt;
    address.bytes[10] = address.bytes[11] = 0xff;
    std::memcpy(address.bytes + sizeof address - ipv4_bytes, value.data(), ipv4_bytes);
    return address;
}

} // namespace

std::optional<device_address> parse_address(const nlmsghdr &message)
{
    const auto *header = kernel::header_of<ifaddrmsg>(message);
    if (header == nullptr || header->ifa_scope >= RT_SCOPE_LINK)
        return std::nullopt;
    std::optional<mrc_ip> peer_or_own;
    std::optional<mrc_ip> local; // of a point-to-point link, where IFA_ADDRESS is the far end's
    kernel::for_each_attribute(message, sizeof *header, [&](std::uint16_t type, std::span<const std::byte> value) {
        if (type == IFA_ADDRESS)
            peer_or_own = address_of(value);
        else if (type == IFA_LOCAL)
            local = address_of(value);
    });
    std::array<char, IF_NAMESIZE> name{};
    if ((!local && !peer_or_own) || ::if_indextoname(header->ifa_index, name.data()) == nullptr)
        return std::nullopt;
    return device_address{.device = name.data(), .address = local ? *local : *peer_or_own};
}

std::optional<mrc_ip> parse_next_hop(const nlmsghdr &message)
{
    const auto *header = kernel::header_of<rtmsg>(message);
    if (header == nullptr || header->rtm_type != RTN_UNICAST)
        return std::nullopt;
    std::optional<mrc_ip> destination;
    std::optional<mrc_ip> gateway;
    kernel::for_each_attribute(message, sizeof *header, [&](std::uint16_t type, std::span<const std::byte> value) {
        if (type == RTA_DST)
            destination = address_of(value);
        else if (type == RTA_GATEWAY)
            gateway = address_of(value);
        else if (type == RTA_VIA && value.size() > sizeof(rtvia)) // an IPv4 route by an IPv6 neighbour
            gateway = address_of(value.subspan(sizeof(rtvia)));
    });
    return gateway ? gateway : destination;
}

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
        parsed.address = address_of(value).value_or(mrc_ip{});
    });
    return has_address ? std::optional{parsed} : std::nullopt;
}

} // namespace mrc::service
