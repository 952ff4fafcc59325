// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/address.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

namespace mrc::perf
{

namespace
{

constexpr std::array<std::uint8_t, 12> ipv4_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

} // namespace

std::string to_text(const ibv_gid &gid)
{
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (is_ipv4(gid))
        ::inet_ntop(AF_INET, gid.raw + ipv4_prefix.size(), text.data(), text.size());
    else
        ::inet_ntop(AF_INET6, gid.raw, text.data(), text.size());
    return text.data();
}

std::optional<ibv_gid> parse_gid(const std::string &text)
{
    ibv_gid gid{};
    if (::inet_pton(AF_INET6, text.c_str(), gid.raw) == 1)
        return gid;
    std::ranges::copy(ipv4_prefix, gid.raw);
    if (::inet_pton(AF_INET, text.c_str(), gid.raw + ipv4_prefix.size()) == 1)
        return gid;
    return std::nullopt;
}

bool is_ipv4(const ibv_gid &gid)
{
    return std::equal(ipv4_prefix.begin(), ipv4_prefix.end(), gid.raw);
}

} // namespace mrc::perf
