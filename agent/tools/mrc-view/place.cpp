// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/place.h"

#include <algorithm>

#include <fmt/format.h>

namespace mrc::view
{

namespace
{

// Cables between hosts have no upper end: the order of the names tells.
link_key ordered(std::uint32_t plane, std::string host, std::string other, const neighbour_table &known)
{
    const bool is_host = known.contains({other, plane});
    if (is_host && other < host)
        std::swap(host, other);
    return {.plane = plane, .a = std::move(host), .b = std::move(other)};
}

void add_peer_links(std::vector<hop> &to, const host_position &from, const mrc_path_row &path,
                    const std::vector<std::string> &peers, const neighbour_table &known)
{
    for (const std::string &peer : peers) {
        const host_position there{.name = peer, .direct = from.direct, .leaf = path.group};
        const link_key link = port_link(there, path.plane, known);
        if (std::ranges::find(to, link, &hop::link) == to.end()) // a cable is the host's own
            to.push_back({.link = link, .up = false});
    }
}

} // namespace

std::string leaf_name(std::uint32_t plane, std::uint32_t leaf)
{
    return fmt::format("p{}t0-{}", plane, leaf);
}

std::string spine_name(std::uint32_t plane, std::uint32_t spine)
{
    return fmt::format("p{}t1-{}", plane, spine);
}

host_position place_of(const std::string &name, const host_rows &rows)
{
    host_position place{.name = name};
    for (const numbered_path &one : rows.paths) {
        place.direct = one.path.kind == MRC_CARRIER_DIRECT;
        if (!place.direct)
            place.leaf = rows.leaf;
        break;
    }
    return place;
}

std::string neighbour_of(const host_position &host, std::uint32_t plane, const neighbour_table &known)
{
    const auto found = known.find({host.name, plane});
    if (found != known.end())
        return found->second;
    return !host.direct && host.leaf ? leaf_name(plane, *host.leaf) : fmt::format("plane {}", plane);
}

link_key port_link(const host_position &host, std::uint32_t plane, const neighbour_table &known)
{
    return ordered(plane, host.name, neighbour_of(host, plane, known), known);
}

std::vector<hop> hops_of(const host_position &from, const mrc_path_row &path, const std::vector<std::string> &peers,
                         const neighbour_table &known)
{
    std::vector<hop> hops;
    const link_key first = port_link(from, path.plane, known);
    hops.push_back({.link = first, .up = first.a == from.name});
    if (!from.direct && from.leaf && path.group != *from.leaf) {
        const std::string spine = spine_name(path.plane, path.uplink);
        hops.push_back({.link = {.plane = path.plane, .a = leaf_name(path.plane, *from.leaf), .b = spine},
                        .up = true,
                        .is_of_port = false});
        hops.push_back({.link = {.plane = path.plane, .a = leaf_name(path.plane, path.group), .b = spine},
                        .up = false,
                        .is_of_port = false});
    }
    add_peer_links(hops, from, path, peers, known);
    return hops;
}

} // namespace mrc::view
