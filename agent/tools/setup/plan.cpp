// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace mrc::setup
{

namespace
{

constexpr std::uint64_t fnv_start = 0xcbf29ce484222325; // FNV-1a: two plans are compared, nobody is to be kept out
constexpr std::uint64_t fnv_prime = 0x100000001b3;

std::uint64_t mixed(std::uint64_t digest, std::uint64_t value)
{
    for (unsigned byte = 0; byte < sizeof value; ++byte)
        digest = (digest ^ (value >> (8 * byte) & 0xff)) * fnv_prime;
    return digest;
}

const hello *hello_of(const heard_so_far &heard, std::uint64_t host)
{
    if (host == heard.own.host)
        return &heard.own;
    const auto found = heard.hosts.find(host);
    return found == heard.hosts.end() ? nullptr : &found->second;
}

// A port says that it hears another. The far end is asked where it has told of itself; a link one way is none.
bool is_link(const heard_so_far &heard, std::uint64_t host, const heard_link &link)
{
    const hello *far = hello_of(heard, link.from.host);
    const heard_link back{.from = {.host = host, .port = link.by}, .by = link.from.port};
    return far == nullptr || std::ranges::binary_search(far->heard, back);
}

using groups = std::map<port_id, port_id>; // each port to one of its group; the least one to itself

port_id least_of(const groups &all, port_id port)
{
    for (auto found = all.find(port); found != all.end() && found->second != port; found = all.find(port))
        port = found->second;
    return port;
}

void join(groups &all, port_id a, port_id b)
{
    a = least_of(all, a);
    b = least_of(all, b);
    all[std::max(a, b)] = std::min(a, b);
    all[std::min(a, b)] = std::min(a, b);
}

void join_links(groups &all, const heard_so_far &heard, const hello &of)
{
    for (const heard_link &link : of.heard)
        if (is_link(heard, of.host, link))
            join(all, {.host = of.host, .port = link.by}, link.from);
}

bool has_several_hosts(const plane_ports &ports)
{
    return ports.front().host != ports.back().host;
}

// Others may have told of a host that this one does not hear.
std::string name_of(const heard_so_far &heard, std::uint64_t host)
{
    const hello *told = hello_of(heard, host);
    return told == nullptr ? "a host that is not heard here" : told->name;
}

// Hosts that are heard by a port and do not hear this host there.
std::string deaf_on(const heard_so_far &heard, std::uint8_t port)
{
    std::string names;
    for (const heard_link &link : heard.own.heard)
        if (link.by == port && !is_link(heard, heard.own.host, link))
            names += (names.empty() ? "" : ", ") + name_of(heard, link.from.host);
    return names;
}

// A plane counts if this host is on it, or has it in reach by a host with other planes. Else a stranger could tell of
// planes that there are not, and shift the numbers of those that there are.
void keep_those_in_reach(std::vector<plane_ports> &planes, std::uint64_t own)
{
    std::set<std::uint64_t> reached{own};
    const auto is_in_reach = [&](const plane_ports &ports) {
        return std::ranges::any_of(ports, [&](const port_id &port) { return reached.contains(port.host); });
    };
    for (std::size_t before = 0; before != reached.size();) {
        before = reached.size();
        for (const plane_ports &ports : planes)
            if (is_in_reach(ports))
                for (const port_id &port : ports)
                    reached.insert(port.host);
    }
    std::erase_if(planes, [&](const plane_ports &ports) { return !is_in_reach(ports); });
}

void remark_on_plane(std::vector<std::string> &to, const heard_so_far &heard, const plan &made, std::size_t plane,
                     const std::vector<std::string> &devices)
{
    const port_id *own = made.port_on(plane, heard.own.host);
    if (own == nullptr)
        return;
    for (const port_id &port : made.planes[plane])
        if (port.host == heard.own.host && port != *own)
            to.push_back(fmt::format("{} is on one network with {}: it is left out, a plane takes one port of a host",
                                     devices[port.port], devices[own->port]));
    for (const std::uint64_t host : made.peers_of(heard.own.host))
        if (const port_id *far = made.port_on(plane, host); far != nullptr && far->port != own->port)
            to.push_back(fmt::format("{} leads to port {} of {}, counted from 0, not to port {}: planes follow the "
                                     "cables, so that this is no fault",
                                     devices[own->port], far->port, name_of(heard, host), own->port));
}

} // namespace

bool take_hello(heard_so_far &to, const hello &came, std::uint8_t by)
{
    if (came.host == to.own.host && came.run != to.own.run)
        return to.twins.insert(came.host).second;
    bool is_new = false;
    if (came.host != to.own.host) {
        const auto known = to.hosts.find(came.host);
        if (known == to.hosts.end() && to.hosts.size() == most_hosts)
            return !std::exchange(to.too_many, true);
        const bool restarted = known != to.hosts.end() && known->second.run != came.run;
        constexpr std::size_t most_runs = 16; // of one host while this program listens
        auto &runs = to.runs[came.host];
        // One that has restarted does not fall back to its earlier run.
        if (restarted && (runs.contains(came.run) || runs.size() == most_runs))
            return to.twins.insert(came.host).second;
        runs.insert(came.run);
        is_new = known == to.hosts.end() || restarted || known->second.heard != came.heard;
        to.hosts.insert_or_assign(came.host, came);
    }
    const heard_link link{.from = {.host = came.host, .port = came.port}, .by = by};
    const auto place = std::ranges::lower_bound(to.own.heard, link);
    if (place != to.own.heard.end() && *place == link)
        return is_new;
    if (to.own.heard.size() == most_links)
        return !std::exchange(to.too_many, true) || is_new;
    to.own.heard.insert(place, link);
    return true;
}

const port_id *plan::port_on(std::size_t plane, std::uint64_t host) const
{
    const auto found = std::ranges::find(planes[plane], host, &port_id::host);
    return found == planes[plane].end() ? nullptr : &*found;
}

std::vector<std::uint64_t> plan::peers_of(std::uint64_t host) const
{
    std::set<std::uint64_t> peers;
    for (std::size_t plane = 0; plane < planes.size(); ++plane)
        if (port_on(plane, host) != nullptr)
            for (const port_id &port : planes[plane])
                peers.insert(port.host);
    peers.erase(host);
    return {peers.begin(), peers.end()};
}

plan make_plan(const heard_so_far &heard)
{
    groups all;
    join_links(all, heard, heard.own);
    for (const auto &[host, told] : heard.hosts)
        join_links(all, heard, told);
    std::map<port_id, plane_ports> by_least;
    for (const auto &[port, next] : all)
        by_least[least_of(all, port)].push_back(port);
    plan made{.planes = {}, .digest = fnv_start};
    for (auto &[least, ports] : by_least)
        if (has_several_hosts(ports))
            made.planes.push_back(std::move(ports));
    keep_those_in_reach(made.planes, heard.own.host);
    for (const plane_ports &ports : made.planes) {
        made.digest = mixed(made.digest, ports.size());
        for (const port_id &port : ports)
            made.digest = mixed(mixed(made.digest, port.host), port.port);
    }
    return made;
}

bool is_agreed(const heard_so_far &heard, const plan &made)
{
    const auto peers = made.peers_of(heard.own.host);
    return !peers.empty() && std::ranges::all_of(peers, [&](std::uint64_t host) {
        const hello *told = hello_of(heard, host);
        return told != nullptr && told->plan == made.digest;
    });
}

std::vector<std::string> remarks_on(const heard_so_far &heard, const plan &made,
                                    const std::vector<std::string> &devices)
{
    std::vector<std::string> lines;
    std::set<std::uint8_t> used;
    for (std::size_t plane = 0; plane < made.planes.size(); ++plane) {
        for (const port_id &port : made.planes[plane])
            if (port.host == heard.own.host)
                used.insert(port.port);
        remark_on_plane(lines, heard, made, plane, devices);
    }
    for (std::uint8_t port = 0; port < heard.own.ports; ++port)
        if (const std::string deaf = deaf_on(heard, port); !deaf.empty())
            lines.push_back(fmt::format("{} on {} is heard and does not hear this host: let UDP port {} through its "
                                        "firewall",
                                        deaf, devices[port], hello_udp_port));
        else if (!used.contains(port))
            lines.push_back(fmt::format("{} is left out: nobody was heard there", devices[port]));
    return lines;
}

std::string refusal_of(const heard_so_far &heard, const plan &made)
{
    if (heard.twins.contains(heard.own.host))
        return "another host has this one's identity, as copies of a disk have: remove /etc/machine-id on one of them, "
               "run systemd-machine-id-setup there, and try again";
    if (!heard.twins.empty())
        return fmt::format("two hosts have the identity of {}: remove /etc/machine-id on one of them, run "
                           "systemd-machine-id-setup there, and try again",
                           name_of(heard, *heard.twins.begin()));
    if (heard.too_many)
        return fmt::format("more than {} other hosts, or {} links, are heard: list [[peer]] by hand, see mrcd(8)",
                           most_hosts, most_links);
    if (made.planes.size() > MRC_MAX_PORTS)
        return fmt::format("the ports are on {} networks; at most {} planes are allowed: choose by --ports",
                           made.planes.size(), MRC_MAX_PORTS);
    if (heard.hosts.empty())
        return fmt::format(
            "nobody was heard on any port: run mrcctl setup on the other hosts at the same time, and let "
            "UDP port {} through their firewalls and this one's",
            hello_udp_port);
    if (made.peers_of(heard.own.host).empty())
        return fmt::format("{} is heard and does not hear this host: let UDP port {} through its firewall",
                           heard.hosts.begin()->second.name, hello_udp_port);
    for (const std::uint64_t host : made.peers_of(heard.own.host))
        if (const hello *told = hello_of(heard, host); told == nullptr || told->plan != made.digest)
            return fmt::format("{} sees other planes than this host: a host comes or goes, or hears only some of the "
                               "others; try again on all of them",
                               name_of(heard, host));
    return {};
}

} // namespace mrc::setup
