// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/direct_watch.h"

#include <algorithm>
#include <utility>

#include "kernel/monotonic_clock.h"
#include "kernel/shared_word.h"
#include "service/fabric_map/fault_event.h"

namespace mrc::service
{

namespace
{

fabric_fault fault_of(const direct_way &way, const way_verdict &verdict)
{
    return {.place = {.blame = MRC_BLAME_PEER,
                      .plane = protocol::plane_index{static_cast<std::uint8_t>(way.plane)},
                      .leaf = way.leaf,
                      .downlink = 0},
            .state = verdict.state,
            .direction = verdict.state == MRC_LINK_LOSSY ? MRC_DIRECTION_UP : MRC_DIRECTION_UNKNOWN,
            .loops = verdict.sent,
            .lost = verdict.lost,
            .extra_rtt_ns = verdict.state == MRC_LINK_SLOW ? verdict.extra_rtt_ns : 0,
            .hosts = 1};
}

} // namespace

direct_watch::direct_watch(boost::asio::io_context &context, surroundings around)
    : around_{std::move(around)}, judge_{judge_settings_of(around_.config.fabric_map)}, timer_{context}
{
}

void direct_watch::look()
{
    const protocol::instant now = kernel::monotonic_now();
    for (const direct_way &way : judge_.take(looks(), now))
        around_.on_fault({.fault = fault_of(way, judge_.verdict(way)), .at = now});
    looked_ = now;
    show();
    timer_.expires_after(direct_judge::interval);
    timer_.async_wait([this](const boost::system::error_code &error) {
        if (!error)
            look();
    });
}

std::map<direct_way, way_look> direct_watch::looks() const
{
    std::map<direct_way, way_look> all;
    for (const path_group_rows &group : around_.groups()) {
        if (group.leaf == around_.rules.self().leaf)
            continue;
        for (unsigned plane = 0; plane < group.planes; ++plane) {
            way_look look;
            look.is_usable =
                (kernel::shared_word(around_.tables.ports[plane].flags) & MRC_PORT_USABLE) == MRC_PORT_USABLE;
            // The EVs of a profile have rows of their own.
            way_look &to = all.try_emplace({.leaf = group.leaf, .plane = plane}, look).first->second;
            for (std::uint32_t uplink = 0; uplink < group.uplinks; ++uplink)
                add_path(to, group.base + plane * group.uplinks + uplink);
        }
    }
    return all;
}

void direct_watch::add_path(way_look &to, std::uint32_t row) const
{
    const mrc_path_row &path = around_.tables.paths[row];
    const mrc_signal_row &signal = around_.tables.signals[row];
    const std::uint16_t state = kernel::shared_word(path.state);
    to.is_good = to.is_good || state == MRC_PATH_GOOD;
    to.is_in_use = to.is_in_use || state == MRC_PATH_GOOD || state == MRC_PATH_KEPT;
    to.sent += kernel::shared_word(path.tx_packets);
    to.lost += kernel::shared_word(path.losses);
    if (const std::uint64_t arrived = kernel::shared_word(signal.last_arrival_ns); arrived != 0)
        to.heard = std::max(to.heard, protocol::instant{std::chrono::nanoseconds{arrived}});
    const protocol::instant answered{std::chrono::nanoseconds{kernel::shared_word(signal.last_ack_ns)}};
    const std::uint32_t rtt_ns = kernel::shared_word(signal.rtt_ns);
    if (answered > looked_ && rtt_ns != 0)
        to.rtt_ns = to.rtt_ns == 0 ? rtt_ns : std::min(to.rtt_ns, rtt_ns);
}

void direct_watch::show() const
{
    std::size_t rows = 0;
    for (const auto &[way, verdict] : judge_.verdicts())
        if (verdict.is_fault() && rows < MRC_MAX_FAULTS)
            around_.tables.fabric_faults[rows++] = row_of(fault_of(way, verdict), verdict.since, around_.rules);
    if (rows < MRC_MAX_FAULTS)
        around_.tables.fabric_faults[rows] = {};
}

} // namespace mrc::service
