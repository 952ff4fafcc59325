// SPDX-License-Identifier: Apache-2.0
#include "service/ports/neighbours.h"

#include <algorithm>

#include <linux/neighbour.h>

namespace mrc::service
{

namespace
{

constexpr std::uint16_t usable_states = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE;

gateway_state resolved(const neighbour &router)
{
    return {.mac = router.mac,
            .stale = (router.state & NUD_STALE) != 0 ? std::optional{router.address} : std::nullopt,
            .reason = MRC_PORT_IN_USE};
}

} // namespace

bool neighbour::is_usable() const
{
    // The kernel keeps multicast addresses in the table too, as NUD_NOARP.
    return (state & usable_states) != 0 && mac && (mac->front() & 1U) == 0;
}

bool neighbour_table::address_less::operator()(const std::pair<std::uint32_t, mrc_ip> &a,
                                               const std::pair<std::uint32_t, mrc_ip> &b) const
{
    if (a.first != b.first)
        return a.first < b.first;
    return std::ranges::lexicographical_compare(a.second.bytes, b.second.bytes);
}

void neighbour_table::update(const neighbour &entry)
{
    entries_.insert_or_assign({entry.ifindex, entry.address}, entry);
}

void neighbour_table::remove(std::uint32_t ifindex, const mrc_ip &address)
{
    entries_.erase({ifindex, address});
}

void neighbour_table::mark_probed(std::uint32_t ifindex, const mrc_ip &address)
{
    if (const auto found = entries_.find({ifindex, address}); found != entries_.end())
        found->second.state = NUD_DELAY;
}

void neighbour_table::remove_device(std::uint32_t ifindex)
{
    std::erase_if(entries_, [ifindex](const auto &row) { return row.first.first == ifindex; });
}

gateway_state neighbour_table::gateway_of(std::uint32_t ifindex, const gateway_option &gateway) const
{
    if (const auto *mac = std::get_if<mac_address>(&gateway))
        return {.mac = *mac, .stale = {}, .reason = MRC_PORT_IN_USE};
    if (const auto *address = std::get_if<mrc_ip>(&gateway)) {
        const auto found = entries_.find({ifindex, *address});
        if (found != entries_.end() && found->second.is_usable())
            return resolved(found->second);
        return {.mac = {}, .stale = {}, .reason = MRC_PORT_NO_NEIGHBOUR};
    }
    const auto router = only_one(ifindex, true);
    return router.reason == MRC_PORT_NO_NEIGHBOUR ? only_one(ifindex, false) : router;
}

// Several entries with one MAC address are one neighbour: a router has a link-local and a global address.
gateway_state neighbour_table::only_one(std::uint32_t ifindex, bool routers_only) const
{
    gateway_state one{.mac = {}, .stale = {}, .reason = MRC_PORT_NO_NEIGHBOUR};
    for (auto row = entries_.lower_bound({ifindex, mrc_ip{}}); row != entries_.end() && row->first.first == ifindex;
         ++row) {
        const auto &entry = row->second;
        if (!entry.is_usable() || (routers_only && !entry.is_router))
            continue;
        if (one.mac && one.mac != entry.mac)
            return {.mac = {}, .stale = {}, .reason = MRC_PORT_SEVERAL_NEIGHBOURS};
        if (!one.mac || one.stale)
            one = resolved(entry);
    }
    return one;
}

} // namespace mrc::service
