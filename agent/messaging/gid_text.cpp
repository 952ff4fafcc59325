// SPDX-License-Identifier: Apache-2.0
#include "messaging/gid_text.h"

#include <bit>

#include <arpa/inet.h>

#include "codec/ip_layout.h"

namespace mrc::messaging
{

std::string gid_text(const gid_bytes &gid)
{
    std::array<char, INET6_ADDRSTRLEN> words{};
    if (codec::is_ipv4_mapped(std::bit_cast<mrc_ip>(gid)))
        (void)::inet_ntop(AF_INET, gid.data() + codec::ipv4_mapped_prefix_bytes, words.data(), words.size());
    else
        (void)::inet_ntop(AF_INET6, gid.data(), words.data(), words.size());
    return words.data();
}

} // namespace mrc::messaging
