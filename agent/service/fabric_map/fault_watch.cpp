// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/fault_watch.h"

#include <algorithm>
#include <utility>

#include "service/fabric_map/fault_event.h"
#include "service/fabric_map/loop_ways.h"
#include "service/random_seed.h"

namespace mrc::service
{

namespace
{

constexpr unsigned most_received = 256; // at once: the thread has loops to send

bool finds_the_same(const link_report &one, const link_report &other)
{
    return std::ranges::equal(one.faults, other.faults, [](const reported_fault &a, const reported_fault &b) {
        return a.plane == b.plane && a.spine == b.spine && a.state == b.state && a.direction == b.direction;
    });
}

bool accuses_leaf(const link_report &report, protocol::plane_index plane)
{
    return std::ranges::any_of(report.faults,
                               [&](const reported_fault &fault) { return fault.plane == plane && !fault.spine; });
}

} // namespace

fault_watch::fault_watch(surroundings around) : around_{std::move(around)}, self_{around_.rules.self()}
{
    own_.run = static_cast<std::uint32_t>(random_seed());
    if (around_.config.fabric_map.exchange)
        socket_.emplace(around_.tables, around_.rules.address_of(self_), around_.config.wire.dscp.control);
}

void fault_watch::know(std::vector<host_place> hosts)
{
    const std::lock_guard lock{mutex_};
    fresh_ = std::move(hosts);
}

void fault_watch::take_over_known()
{
    std::optional<std::vector<host_place>> fresh;
    {
        const std::lock_guard lock{mutex_};
        fresh = std::exchange(fresh_, std::nullopt);
    }
    if (fresh)
        exchange_.know(*fresh);
}

void fault_watch::receive(protocol::instant now)
{
    if (socket_)
        socket_->receive(most_received, [&](const mrc_ip &from, std::span<const std::byte> bytes) {
            const auto host = around_.rules.host_of(from);
            auto report = host ? decode_link_report(bytes) : std::nullopt;
            if (report)
                exchange_.take(*host, *std::move(report), now);
        });
}

void fault_watch::evaluate(link_report own, protocol::instant now)
{
    take_over_known();
    exchange_.forget_old(now);
    if (!finds_the_same(own_, own))
        exchange_.hurry();
    keep_since(own, own_, now);
    own.run = own_.run;
    own.number = own_.number;
    own_ = std::move(own);
    send_reports(now);
    for (const fault_change &change : board_.take(found(), exchange_.reports().empty(), now))
        around_.on_fault(change);
    show();
}

void fault_watch::send_reports(protocol::instant now)
{
    if (!socket_)
        return;
    std::vector<std::byte> bytes;
    exchange_.send_due(board_.is_alert(now), now, [&](host_place host) {
        if (bytes.empty()) {
            ++own_.number;
            bytes = encode(own_);
        }
        if (const auto way = way_to(host))
            socket_->send(*way, around_.rules.address_of(host), bytes);
    });
}

// Another one each time, of those whose own links are good, if there are any.
std::optional<report_socket::way> fault_watch::way_to(host_place host)
{
    const link_report *const theirs = exchange_.report_of(host);
    std::optional<std::uint8_t> chosen;
    bool is_chosen_good = false;
    for (std::uint32_t i = 0; i < MRC_MAX_PORTS; ++i) {
        const auto number = static_cast<std::uint8_t>((turn_ + i) % MRC_MAX_PORTS);
        const protocol::plane_index plane{number};
        if (!own_.planes[number])
            continue;
        const bool is_good = !accuses_leaf(own_, plane) && (theirs == nullptr || !accuses_leaf(*theirs, plane));
        if (chosen && (is_chosen_good || !is_good))
            continue;
        chosen = number;
        is_chosen_good = is_good;
    }
    if (!chosen)
        return std::nullopt;
    turn_ = *chosen + 1U;
    const reported_plane plane = own_.planes[*chosen].value_or(reported_plane{});
    std::uint32_t spine = own_.number % std::max(1U, plane.spines);
    for (std::uint32_t i = 0; i < plane.spines && !plane.good[spine]; ++i)
        spine = (spine + 1) % plane.spines;
    const protocol::plane_index index{*chosen};
    return report_socket::way{.plane = index, .carrier = carrier_to(around_.config, index, spine, host)};
}

std::vector<fabric_fault> fault_watch::found() const
{
    std::vector<host_report> reports = exchange_.reports();
    reports.push_back({.host = self_, .report = &own_});
    const auto accuses = [](const host_report &each) { return !each.report->faults.empty(); };
    return std::ranges::any_of(reports, accuses) ? merge_reports(reports) : std::vector<fabric_fault>{};
}

void fault_watch::show() const
{
    std::size_t rows = 0;
    for (const auto &[place, named] : board_.named())
        if (rows < MRC_MAX_FAULTS)
            around_.tables.fabric_faults[rows++] = row_of(named.fault, named.since, around_.rules);
    if (rows < MRC_MAX_FAULTS)
        around_.tables.fabric_faults[rows] = {};
}

} // namespace mrc::service
