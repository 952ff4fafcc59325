// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/peer_views.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "kernel/event_history.h"
#include "kernel/map_names.h"
#include "kernel/monotonic_clock.h"
#include "service/address.h"
#include "service/event_text.h"
#include "session/host_names.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/events.h"
#include "tools/mrcctl/json_values.h"
#include "tools/mrcctl/peers.h"
#include "tools/mrcctl/text.h"
#include "tools/mrcctl/views.h"
#include "tools/setup/identity.h"
#include "tools/table/table.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr column known_peer_columns[] = {
    {"PEER", "peer"},
    {"NAME", "name"},
    {"KNOWN BY", "known_by"},
    {"PLANES", "planes"},
    {"UP", "planes_up"},
    {"QPS", "queue_pairs"},
    {"GOOD", "paths.good"},
    {"KEPT", "paths.kept"},
    {"BAD", "paths.assumed_bad"},
    {"DENIED", "paths.denied"},
    {"MIN RTT", "rtt_min_ns", column_unit::time},
    {"CHANGED", "unchanged_for_ns", column_unit::time},
    {"WHAT", "changed"},
};

constexpr column peer_plane_columns[] = {
    {"PLANE", "plane"},           {"UP", "up"},
    {"GOOD", "paths.good"},       {"KEPT", "paths.kept"},
    {"BAD", "paths.assumed_bad"}, {"DENIED", "paths.denied"},
    {"TX PACKETS", "tx_packets"}, {"LOST", "losses"},
    {"RX PACKETS", "rx_packets"}, {"MIN RTT", "rtt_min_ns", column_unit::time},
};

bool has_address(const peer_place &peer, const mrc_ip &address)
{
    return service::is_same(peer.address, address) ||
           std::ranges::any_of(peer.others, [&](const mrc_ip &other) { return service::is_same(other, address); });
}

// What all peers are looked up in.
class peer_look
{
public:
    explicit peer_look(const host_maps &maps)
        : maps_{maps}, peers_{peers_in_map(maps)}, names_{session::known_hosts(maps.of().name)},
          events_{event_reader{maps.of()}.take()},
          now_ns_{static_cast<std::uint64_t>(kernel::monotonic_now().time_since_epoch().count())}
    {
        for (std::uint32_t number = 0; number < MRC_MAX_QPS; ++number)
            if (const mrc_qp_row qp = maps.qps()[number]; qp.qpn != 0)
                if (const auto row = maps.peer(qp.peer))
                    qps_[key_of(*row)].insert(qp.qpn);
    }

    [[nodiscard]] const std::vector<peer_place> &peers() const { return peers_; }

    [[nodiscard]] json::object summary_of(const peer_place &peer) const
    {
        const std::optional<mrc_event_row> last = last_event_of(peer);
        return {{"peer", address_or_null(peer.address)},
                {"name", name_of(peer)},
                {"known_by", how_known(peer)},
                {"planes", peer.row.planes},
                {"planes_up", std::popcount(peer.row.plane_mask)},
                {"plane_mask", peer.row.plane_mask},
                {"queue_pairs", qpns_of(peer).size()},
                {"paths", count_paths(maps_, {.range = range_of(peer.row)})},
                {"rtt_min_ns", least_rtt(range_of(peer.row), {})},
                {"changed_ns", last ? json::value(last->time_ns) : json::value(nullptr)},
                {"unchanged_for_ns",
                 last ? json::value(now_ns_ - std::min(now_ns_, std::uint64_t{last->time_ns})) : json::value(nullptr)},
                {"changed", last ? json::value(name_in(kernel::event_kind_names, last->kind)) : json::value(nullptr)}};
    }

    [[nodiscard]] json::object all_of(const peer_place &peer) const
    {
        json::object view = summary_of(peer);
        json::array addresses;
        for (const mrc_ip &address : peer.others)
            addresses.push_back(address_or_null(address));
        view["other_addresses"] = std::move(addresses);
        json::array planes;
        for (std::uint32_t plane = 0; plane < peer.row.planes; ++plane)
            planes.push_back(plane_of(peer, plane));
        view["by_plane"] = std::move(planes);
        json::array qpns;
        for (const std::uint32_t qpn : qpns_of(peer))
            qpns.push_back(qpn);
        view["qpns"] = std::move(qpns);
        const std::optional<mrc_event_row> last = last_event_of(peer);
        view["changed_text"] = last ? json::value(json_text(service::line_of(*last))) : json::value(nullptr);
        return view;
    }

private:
    [[nodiscard]] json::value name_of(const peer_place &peer) const
    {
        const auto named = std::ranges::find_if(names_, [&](const session::named_host &host) {
            const auto address = service::parse_ip(host.address);
            return address && has_address(peer, *address);
        });
        return named == names_.end() ? json::value(nullptr) : json::value(json_text(named->name));
    }

    // In direct mode [[peer]] has it, in an SRv6 fabric its place among the others.
    [[nodiscard]] json::string how_known(const peer_place &peer) const
    {
        const bool is_direct =
            peer.row.group_base < maps_.paths().size() && maps_.paths()[peer.row.group_base].kind == MRC_CARRIER_DIRECT;
        return is_direct ? setup::is_of_setup(peer.address) ? "setup" : "configuration" : "plan";
    }

    [[nodiscard]] std::set<std::uint32_t> qpns_of(const peer_place &peer) const
    {
        const auto found = qps_.find(key_of(peer.row));
        return found == qps_.end() ? std::set<std::uint32_t>{} : found->second;
    }

    [[nodiscard]] json::value least_rtt(const path_range &range, const std::optional<std::uint32_t> &plane) const
    {
        std::uint32_t least = 0; // none yet
        for_each_path(maps_, {.range = range, .plane = plane}, [&](std::uint32_t number, const mrc_path_row &) {
            const std::uint32_t rtt = maps_.signals()[number].rtt_min_ns;
            least = rtt != 0 && (least == 0 || rtt < least) ? rtt : least;
        });
        return least == 0 ? json::value(nullptr) : json::value(least);
    }

    [[nodiscard]] json::object plane_of(const peer_place &peer, std::uint32_t plane) const
    {
        const path_filter wanted{.range = range_of(peer.row), .plane = plane};
        std::uint64_t tx_packets = 0;
        std::uint64_t losses = 0;
        std::uint64_t rx_packets = 0;
        for_each_path(maps_, wanted, [&](std::uint32_t number, const mrc_path_row &row) {
            tx_packets += row.tx_packets;
            losses += row.losses;
            rx_packets += maps_.signals()[number].packets;
        });
        return {{"plane", plane},
                {"up", (peer.row.plane_mask >> plane & 1) != 0 ? "yes" : "no"},
                {"paths", count_paths(maps_, wanted)},
                {"tx_packets", tx_packets},
                {"losses", losses},
                {"rx_packets", rx_packets},
                {"rtt_min_ns", least_rtt(wanted.range, plane)}};
    }

    [[nodiscard]] std::optional<mrc_event_row> last_event_of(const peer_place &peer) const
    {
        std::optional<mrc_event_row> last;
        for (const mrc_event_row &event : events_)
            if (kernel::class_of(event.kind) == MRC_EVENTS_OF_PEERS && has_address(peer, event.peer))
                last = event;
        return last;
    }

    const host_maps &maps_;
    std::vector<peer_place> peers_;
    std::vector<session::named_host> names_;
    std::vector<mrc_event_row> events_; // in their order
    std::map<host_key, std::set<std::uint32_t>> qps_;
    std::uint64_t now_ns_;
};

} // namespace

json::array peers_of(const host_maps &maps)
{
    const peer_look look{maps};
    json::array all;
    for (const peer_place &peer : look.peers())
        all.push_back(look.summary_of(peer));
    return all;
}

json::object peer_of(const host_maps &maps, const std::string &named)
{
    const host_key wanted = key_of(peer_named(maps, named).row);
    const peer_look look{maps};
    for (const peer_place &peer : look.peers())
        if (key_of(peer.row) == wanted)
            return look.all_of(peer);
    throw ctl_error{fmt::format("peer '{}' has just gone", named)};
}

std::string peers_text(const json::array &peers)
{
    return peers.empty() ? "no peers\n" : to_table(known_peer_columns, peers);
}

std::string peer_text(const json::object &peer)
{
    const auto listed = [](const json::array &values) {
        std::string list;
        for (const json::value &value : values)
            list += (list.empty() ? "" : ", ") + to_text(value, column_unit::none);
        return list.empty() ? std::string{"-"} : list;
    };
    json::object members = peer;
    members["other_addresses"] = json_text(listed(peer.at("other_addresses").as_array()));
    members["qpns"] = json_text(listed(peer.at("qpns").as_array()));
    return members_text(members) + '\n' + to_table(peer_plane_columns, peer.at("by_plane").as_array());
}

} // namespace mrc::ctl
