// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>

#include "tools/mrcctl/diagnose/round_trips.h"

namespace mrc::ctl::diagnose
{

namespace
{

// uSIDs of what paths on one plane lead through.
struct plane_places {
    mrc_ip block{};
    std::uint32_t block_bytes = 0;
    std::uint16_t own_leaf = 0; // 0: no path is known
    std::uint16_t own_port = 0;
    std::uint16_t host_bits = 0; // what uSIDs of hosts have besides on this plane
    mrc_ip own_address{};
    std::map<std::uint32_t, std::uint16_t> spines; // by uplink
    std::map<std::uint32_t, std::uint16_t> leaves; // by group
};

mrc_ip carrier_of(const plane_places &plane, std::initializer_list<std::uint16_t> usids)
{
    mrc_carrier carrier{};
    std::copy_n(plane.block.bytes, plane.block_bytes, carrier.bytes);
    for (std::uint32_t place = 0; place < usids.size(); ++place)
        mrc_usid_set(&carrier, plane.block_bytes, place, usids.begin()[place]);
    mrc_ip address{};
    std::ranges::copy(carrier.bytes, address.bytes);
    return address;
}

// Behind a longer block there is room for fewer uSIDs.
void add(std::vector<trip_route> &to, const trip_key &key, const plane_places &at,
         std::initializer_list<std::uint16_t> usids, const mrc_ip &target)
{
    if (usids.size() <= mrc_usids_behind(at.block_bytes))
        to.push_back({.key = key, .carrier = carrier_of(at, usids), .target = target});
}

mrc_carrier carrier_in(const mrc_ip &address)
{
    mrc_carrier carrier{};
    std::ranges::copy(address.bytes, carrier.bytes);
    return carrier;
}

void learn(plane_places &plane, const mrc_path_row &row, const mrc_host_row &host)
{
    const mrc_carrier carrier = carrier_in(row.carrier);
    plane.block = row.carrier;
    plane.block_bytes = host.block_bytes;
    plane.own_leaf = mrc_usid_at(&carrier, host.block_bytes, 0);
    plane.host_bits = mrc_usid_at(&carrier, 0, row.host_usid_at / MRC_USID_BYTES);
    if (row.group == host.leaf)
        return; // toward hosts of the own leaf
    plane.spines[row.uplink] = mrc_usid_at(&carrier, host.block_bytes, 1);
    plane.leaves[row.group] = mrc_usid_at(&carrier, host.block_bytes, 2);
}

std::map<std::uint32_t, plane_places> places_in(const host_maps &maps, const std::vector<peer_place> &peers)
{
    const mrc_host_row host = maps.host();
    std::map<std::uint32_t, plane_places> planes;
    for (const peer_place &peer : peers) {
        const std::uint32_t end = peer.row.group_base + std::uint32_t{peer.row.planes} * peer.row.uplinks;
        for (std::uint32_t number = peer.row.group_base; number < std::min(end, maps.paths().size()); ++number)
            if (const mrc_path_row row = maps.paths()[number];
                row.state != MRC_PATH_UNUSED && row.kind == MRC_CARRIER_SRV6 && host.block_bytes != 0)
                learn(planes[row.plane], row, host);
    }
    for (auto &[number, places] : planes) {
        const mrc_port_row port = maps.ports()[number];
        const mrc_carrier outer = carrier_in(port.outer);
        const bool usable = (port.flags & MRC_PORT_USABLE) == MRC_PORT_USABLE && port.reason == MRC_PORT_IN_USE;
        places.own_port = usable ? mrc_usid_at(&outer, places.block_bytes, 0) : std::uint16_t{0};
        places.own_address = port.address;
    }
    std::erase_if(planes, [](const auto &one) { return one.second.own_port == 0; });
    return planes;
}

void add_turns(std::vector<trip_route> &to, std::uint32_t number, const plane_places &at)
{
    add(to, {.kind = trip_kind::own_leaf, .plane = number}, at, {at.own_leaf, at.own_port}, at.own_address);
    for (const auto &[uplink, spine] : at.spines)
        add(to, {.kind = trip_kind::spine, .plane = number, .out = uplink}, at,
            {at.own_leaf, spine, at.own_leaf, at.own_port}, at.own_address);
    for (const auto &[leaf, usid] : at.leaves)
        for (auto out = at.spines.begin(); out != at.spines.end(); ++out)
            for (auto back = at.spines.begin(); back != at.spines.end(); ++back) {
                // Straight, and crossed with the next one: enough to tell directions.
                const bool is_next = std::next(out) == back || std::next(back) == out;
                if (out != back && !is_next)
                    continue;
                add(to,
                    {.kind = trip_kind::far_leaf,
                     .plane = number,
                     .leaf = leaf,
                     .out = out->first,
                     .back = back->first},
                    at, {at.own_leaf, out->second, usid, back->second, at.own_leaf, at.own_port}, at.own_address);
            }
}

struct far_peer {
    std::uint32_t number = 0; // in the list of peers
    std::uint32_t leaf = 0;
    std::uint16_t usid = 0; // its downlink on this plane
    mrc_ip address{};
    bool first_behind_leaf = false;
};

void add_echoes(std::vector<trip_route> &to, std::uint32_t number, const plane_places &at, const far_peer &peer)
{
    const auto leaf = at.leaves.find(peer.leaf);
    if (leaf == at.leaves.end()) {
        add(to, {.kind = trip_kind::echo, .plane = number, .peer = peer.number, .out = 0}, at, {at.own_leaf, peer.usid},
            peer.address);
        return;
    }
    for (auto out = at.spines.begin(); out != at.spines.end(); ++out) {
        add(to, {.kind = trip_kind::echo, .plane = number, .peer = peer.number, .out = out->first}, at,
            {at.own_leaf, out->second, leaf->second, peer.usid}, peer.address);
        if (!peer.first_behind_leaf)
            continue;
        for (auto by = at.spines.begin(); by != at.spines.end(); ++by)
            if (std::next(out) == by || std::next(by) == out)
                add(to,
                    {.kind = trip_kind::detour,
                     .plane = number,
                     .peer = peer.number,
                     .out = out->first,
                     .back = by->first},
                    at, {at.own_leaf, out->second, leaf->second, by->second, leaf->second, peer.usid}, peer.address);
    }
}

bool is_ipv4(const mrc_ip &address)
{
    static constexpr std::uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    return std::equal(std::begin(prefix), std::end(prefix), std::begin(address.bytes));
}

} // namespace

route_plan plan_routes(const host_maps &maps, const std::vector<peer_place> &peers)
{
    route_plan plan;
    for (const auto &[number, at] : places_in(maps, peers)) {
        plan.own_leaf = maps.host().leaf;
        add_turns(plan.routes, number, at);
        std::set<std::uint32_t> leaves;
        for (std::uint32_t peer = 0; peer < peers.size(); ++peer) {
            const mrc_path_row path = maps.paths()[peers[peer].row.group_base];
            if (is_ipv4(peers[peer].address))
                continue;
            add_echoes(plan.routes, number, at,
                       {.number = peer,
                        .leaf = path.group,
                        .usid = static_cast<std::uint16_t>(peers[peer].row.host_usid | at.host_bits),
                        .address = peers[peer].address,
                        .first_behind_leaf = leaves.insert(path.group).second});
        }
    }
    return plan;
}

} // namespace mrc::ctl::diagnose
