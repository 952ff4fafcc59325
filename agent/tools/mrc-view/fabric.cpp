// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/fabric.h"

#include <algorithm>
#include <array>
#include <set>

#include <boost/json/object.hpp>

#include "kernel/map_names.h"
#include "service/address.h"
#include "tools/mrcctl/json_text.h"
#include "tools/mrcctl/json_values.h"

namespace mrc::view
{

namespace
{

namespace json = boost::json;

constexpr double least_loss = 0.01;
constexpr std::uint64_t least_packets = 20; // to judge a loss by
constexpr double bits_per_byte = 8;

void add_ports(link_table &to, const host_look &host, const neighbour_table &known)
{
    const double seconds = seconds_between(*host.before, *host.now);
    for (std::uint32_t plane = 0; plane < MRC_MAX_PORTS; ++plane) {
        const mrc_port_row &then = host.before->counters.ports[plane];
        const mrc_port_row &now = host.now->counters.ports[plane];
        if (now.device[0] == '\0')
            continue;
        const link_key key = port_link(host.place, plane, known);
        link_figures &link = to[key];
        const double out = bits_per_byte * ctl::rate_between(then.tx_bytes, now.tx_bytes, seconds);
        const double in = bits_per_byte * ctl::rate_between(then.rx_bytes, now.rx_bytes, seconds);
        const bool up = key.a == host.place.name;
        // A cable is two hosts' own: what both count is the same packets.
        link.up_bits_per_s = std::max(link.up_bits_per_s, up ? out : in);
        link.down_bits_per_s = std::max(link.down_bits_per_s, up ? in : out);
        if ((now.flags & MRC_PORT_USABLE) != MRC_PORT_USABLE || now.reason != MRC_PORT_IN_USE)
            link.down_reason = std::string{ctl::name_in(kernel::port_reason_names, now.reason)};
    }
}

void add_path(link_table &to, const host_look &host, const path_growth &last, const path_growth &whole,
              const std::vector<hop> &hops)
{
    const double seconds = seconds_between(*host.before, *host.now);
    for (const hop &one : hops) {
        link_figures &link = to[one.link];
        ++link.paths;
        link.good += last.now.path.state == MRC_PATH_GOOD ? 1 : 0;
        link.sent += whole.tx_packets;
        link.lost += whole.losses;
        if (one.is_of_port || seconds <= 0)
            continue; // ports count what goes over their own links
        (one.up ? link.up_bits_per_s : link.down_bits_per_s) +=
            bits_per_byte * static_cast<double>(last.tx_bytes) / seconds;
    }
}

} // namespace

std::optional<double> loss_of(const link_figures &figures)
{
    if (figures.sent == 0)
        return std::nullopt;
    // Losses are found after the packets were sent, of which none may have followed.
    return std::min(1.0, static_cast<double>(figures.lost) / static_cast<double>(figures.sent));
}

link_state state_of(const link_figures &figures)
{
    if (!figures.down_reason.empty())
        return link_state::down;
    if (figures.paths == 0)
        return link_state::unused;
    if (figures.good == 0)
        return link_state::dark;
    if (figures.good < figures.paths)
        return link_state::partly;
    return figures.sent >= least_packets && loss_of(figures).value_or(0) >= least_loss ? link_state::lossy
                                                                                       : link_state::good;
}

const char *name_of(link_state state)
{
    static constexpr std::array names{"unused", "good", "lossy", "partly", "dark", "down"};
    return names[static_cast<std::size_t>(state)];
}

std::string name_of_peer(const mrc_ip &address, const peer_names &names)
{
    const std::string text = service::to_text(address);
    const auto found = names.find(text);
    return found == names.end() ? text : found->second;
}

peers_by_group peers_in_use(const host_rows &rows, const peer_names &names)
{
    std::set<host_id> connected;
    for (const auto &[qpn, peer] : rows.peer_of_qp)
        connected.insert(id_of(peer));
    peers_by_group found;
    for (const auto &peer : rows.peers) {
        const auto first = std::ranges::lower_bound(rows.paths, peer.row.group_base, {}, &numbered_path::number);
        if (first != rows.paths.end() && connected.contains(id_of(peer.row)))
            found[first->path.group].push_back(name_of_peer(peer.address, names));
    }
    return found;
}

void add_links(link_table &to, const host_look &host, const peer_names &names, const neighbour_table &known)
{
    add_ports(to, host, known);
    const std::vector<path_growth> last = growth_between(*host.before, *host.now);
    const std::vector<path_growth> whole = growth_between(*host.long_ago, *host.now);
    peers_by_group peers = peers_in_use(*host.now, names);
    for (std::size_t i = 0; i < last.size(); ++i) {
        const mrc_path_row &path = last[i].now.path;
        add_path(to, host, last[i], whole[i], hops_of(host.place, path, peers[path.group], known));
    }
}

json::array links_view(const link_table &links)
{
    json::array all;
    for (const auto &[key, figures] : links) {
        const auto loss = loss_of(figures);
        all.push_back(
            json::object{{"plane", key.plane},
                         {"a", ctl::json_text(key.a)},
                         {"b", ctl::json_text(key.b)},
                         {"state", name_of(state_of(figures))},
                         {"reason", figures.down_reason.empty() ? json::value(nullptr)
                                                                : json::value(ctl::json_text(figures.down_reason))},
                         {"loss", loss ? json::value(*loss) : json::value(nullptr)},
                         {"up_bits_per_s", figures.up_bits_per_s},
                         {"down_bits_per_s", figures.down_bits_per_s},
                         {"paths", figures.paths},
                         {"good", figures.good}});
    }
    return all;
}

} // namespace mrc::view
