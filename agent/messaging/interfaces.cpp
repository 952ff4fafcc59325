// SPDX-License-Identifier: Apache-2.0
#include "messaging/interfaces.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

namespace mrc::messaging
{

namespace
{

constexpr std::size_t ipv4_bytes = 4;

bool family_allows(std::string_view family, int which)
{
    if (family == "AF_INET")
        return which == AF_INET;
    return family != "AF_INET6" || which == AF_INET6;
}

} // namespace

socklen_t socket_address::store(sockaddr_storage &into) const
{
    into = {};
    if (family == AF_INET) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::memcpy(&v4.sin_addr, bytes.data(), ipv4_bytes);
        std::memcpy(&into, &v4, sizeof(v4));
        return sizeof(v4);
    }
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_scope_id = scope;
    std::memcpy(&v6.sin6_addr, bytes.data(), bytes.size());
    std::memcpy(&into, &v6, sizeof(v6));
    return sizeof(v6);
}

std::optional<socket_address> socket_address::from(const sockaddr *address)
{
    socket_address found;
    if (address == nullptr)
        return std::nullopt;
    found.family = address->sa_family;
    if (found.family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, address, sizeof(v4));
        found.port = ntohs(v4.sin_port);
        std::memcpy(found.bytes.data(), &v4.sin_addr, ipv4_bytes);
        return found;
    }
    if (found.family != AF_INET6)
        return std::nullopt;
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof(v6));
    found.port = ntohs(v6.sin6_port);
    found.scope = v6.sin6_scope_id;
    std::memcpy(found.bytes.data(), &v6.sin6_addr, found.bytes.size());
    return found;
}

bool socket_address::link_local() const
{
    constexpr std::uint8_t first = 0xFE;
    constexpr std::uint8_t second = 0x80;
    constexpr std::uint8_t mask = 0xC0;
    return family == AF_INET6 && bytes[0] == first && (bytes[1] & mask) == second;
}

std::string socket_address::text() const
{
    std::array<char, INET6_ADDRSTRLEN> words{};
    ::inet_ntop(family, bytes.data(), words.data(), words.size());
    const std::string number = std::to_string(port);
    return family == AF_INET ? std::string{words.data()} + ":" + number
                             : "[" + std::string{words.data()} + "]:" + number;
}

bool names_interface(std::string_view list, std::string_view name)
{
    const auto begins_with = [&](char sign) {
        const bool there = list.starts_with(sign);
        list.remove_prefix(there ? 1 : 0);
        return there;
    };
    const bool all_but = begins_with('^');
    const bool whole = begins_with('=');
    bool any = false;
    bool found = false;
    while (!list.empty()) {
        const std::string_view entry = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), entry.size() + 1));
        const std::string_view wanted = entry.substr(0, entry.find(':'));
        if (wanted.empty())
            continue;
        any = true;
        found = found || (whole ? name == wanted : name.starts_with(wanted));
    }
    return (found || !any) != all_but;
}

std::optional<host_interface> choose_interface(std::span<const host_interface> interfaces, std::string_view list,
                                               std::string_view family)
{
    const auto first = [&](std::string_view names) -> std::optional<host_interface> {
        for (const bool link_local : {false, true})
            for (const host_interface &one : interfaces)
                if (one.address.link_local() == link_local && family_allows(family, one.address.family) &&
                    names_interface(names, one.name))
                    return one;
        return std::nullopt;
    };
    if (!list.empty())
        return first(list);
    for (const std::string_view names : {"ib", "^docker,lo,virbr", "docker", "lo", "virbr"})
        if (auto found = first(names))
            return found;
    return std::nullopt;
}

std::vector<host_interface> running_interfaces()
{
    std::vector<host_interface> found;
    ifaddrs *all = nullptr;
    if (::getifaddrs(&all) != 0)
        return found;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner{all, &::freeifaddrs};
    const socket_address loopback{.family = AF_INET6,
                                  .bytes = std::bit_cast<std::array<std::uint8_t, 16>>(in6addr_loopback)};
    for (const ifaddrs *one = all; one != nullptr; one = one->ifa_next) {
        const auto address = socket_address::from(one->ifa_addr);
        if (address && *address != loopback && (one->ifa_flags & IFF_RUNNING) != 0)
            found.push_back({.name = one->ifa_name, .address = *address});
    }
    return found;
}

} // namespace mrc::messaging
