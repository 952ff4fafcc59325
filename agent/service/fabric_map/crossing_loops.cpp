// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/crossing_loops.h"

#include <algorithm>
#include <optional>

namespace mrc::service
{

crossing_loops::crossing_loops(const daemon_config &config, std::span<const loop_way> ways)
    : config_{config}, ways_{ways}
{
    if (!has_room_to_cross(config))
        return; // no direction can be told
    auto row = static_cast<std::uint32_t>(ways.size());
    for (const port_options &port : config.ports) {
        planes_.push_back({.plane = port.plane,
                           .row = row,
                           .finder = {config.fabric.leaves, config.host.leaf},
                           .records = std::vector<loop_record>(direction_finder::loops)});
        row += direction_finder::loops;
    }
}

mrc_link_direction crossing_loops::direction_of(protocol::plane_index plane, std::uint32_t spine) const
{
    const auto of = std::ranges::find(planes_, plane, &plane_finder::plane);
    return of == planes_.end() ? MRC_DIRECTION_UNKNOWN : of->finder.direction_of(spine);
}

void crossing_loops::follow(const fabric_judge &judge, protocol::instant now, loop_sender &sender)
{
    for (plane_finder &of : planes_) {
        std::vector<std::uint32_t> faulty;
        std::optional<std::uint32_t> good;
        for (std::uint32_t way = 0; way < ways_.size(); ++way) {
            const auto &spine = ways_[way].spine;
            if (ways_[way].plane != of.plane || !spine)
                continue;
            if (judge.verdict(way).state >= MRC_LINK_LOSSY)
                faulty.push_back(*spine);
            else if (!good && judge.is_clean(way, now))
                good = spine;
        }
        if (!of.finder.follow(faulty, good))
            continue;
        for (loop_record &record : of.records)
            record.forget();
        const auto &trip = of.finder.now();
        if (!trip)
            continue;
        const auto by = [&](std::uint32_t out, std::uint32_t back) {
            return crossing_carrier(config_, of.plane, {.out = out, .leaf = trip->leaf, .back = back});
        };
        sender.redirect(of.row, by(trip->suspect, trip->partner));
        sender.redirect(of.row + 1, by(trip->partner, trip->suspect));
        sender.redirect(of.row + 2, by(trip->partner, trip->partner));
    }
}

bool crossing_loops::on_sent(std::uint32_t row, protocol::instant now)
{
    for (plane_finder &of : planes_)
        if (row >= of.row && row - of.row < of.records.size()) {
            of.records[row - of.row].on_sent(now);
            return true;
        }
    return false;
}

} // namespace mrc::service
