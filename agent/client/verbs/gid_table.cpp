// SPDX-License-Identifier: Apache-2.0
#include "client/verbs/gid_table.h"

#include <algorithm>
#include <cstring>

namespace mrc::client
{

namespace
{

mrc_ip link_local(std::uint64_t guid)
{
    mrc_ip address{.bytes = {0xfe, 0x80}};
    std::memcpy(address.bytes + 8, &guid, sizeof(guid)); // network order already
    return address;
}

} // namespace

std::optional<mrc_ip> gid_at(const host_description &host, int index)
{
    if (index < 0 || index >= gid_table_length)
        return std::nullopt;
    const auto pair = static_cast<std::size_t>(index) / 2;
    if (pair == 0)
        return link_local(host.guid);
    return pair <= host.addresses.size() ? std::optional{host.addresses[pair - 1]} : std::nullopt;
}

std::optional<int> gid_index_of(const host_description &host, const mrc_ip &address)
{
    for (int index = 0; index < gid_table_length; index += 2) {
        const auto entry = gid_at(host, index);
        if (entry && std::ranges::equal(entry->bytes, address.bytes))
            return index;
    }
    return std::nullopt;
}

} // namespace mrc::client
