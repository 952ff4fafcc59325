// SPDX-License-Identifier: Apache-2.0
#include "tools/hosts/lookup.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "session/host_names.h"

namespace mrc::tools
{

namespace
{

bool is_address(const std::string &text)
{
    std::array<unsigned char, sizeof(in6_addr)> place{};
    return ::inet_pton(AF_INET6, text.c_str(), place.data()) == 1 ||
           ::inet_pton(AF_INET, text.c_str(), place.data()) == 1;
}

std::string names_in_words(const std::vector<session::named_host> &hosts)
{
    std::vector<std::string> names;
    names.reserve(hosts.size());
    for (const session::named_host &host : hosts)
        names.push_back(host.name);
    constexpr std::size_t most_shown = 16;
    if (names.empty())
        return "no peer has a name here";
    const bool cut = names.size() > most_shown;
    names.resize(std::min(names.size(), most_shown));
    return fmt::format("the names are {}{}", fmt::join(names, ", "), cut ? ", ... (mrcctl hosts)" : "");
}

} // namespace

std::string instances_meant(const std::string &given)
{
    const char *const named = std::getenv("MRC_INSTANCE");
    return given.empty() && named != nullptr ? named : given;
}

std::expected<std::optional<std::string>, std::string> address_of_name(const std::string &name,
                                                                       const std::string &instances)
{
    const auto addresses = session::addresses_of_name(name, session::known_hosts(instances));
    if (addresses.size() > 1)
        return std::unexpected{fmt::format("'{}' is several hosts, {}: name the instance by --instance or MRC_INSTANCE",
                                           name, fmt::join(addresses, ", "))};
    return addresses.empty() ? std::nullopt : std::optional{addresses.front()};
}

std::expected<std::string, std::string> address_of_peer(const std::string &peer, const std::string &instances)
{
    if (is_address(peer))
        return peer;
    const auto found = address_of_name(peer, instances);
    if (!found)
        return std::unexpected{found.error()};
    const std::optional<std::string> &address = *found;
    if (!address)
        return std::unexpected{fmt::format("'{}' is no address and no name of a peer; allowed: an MRC address, such as "
                                           "fd6d:7263::1:1, or a name; {}",
                                           peer, names_in_words(session::known_hosts(instances)))};
    return *address;
}

} // namespace mrc::tools
