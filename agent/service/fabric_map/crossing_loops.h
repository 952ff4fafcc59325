// SPDX-License-Identifier: Apache-2.0
// The loops by which each plane's direction_finder tells directions: their rows of `loops`, behind those of all other
// ways, three for each port, and what has become of them. They go only while a spine's way is at fault.
#pragma once

#include <cstdint>
#include <vector>

#include "service/config/config.h"
#include "service/fabric_map/direction_finder.h"
#include "service/fabric_map/fabric_judge.h"
#include "service/fabric_map/loop_record.h"
#include "service/fabric_map/loop_sender.h"
#include "service/fabric_map/loop_ways.h"

namespace mrc::service
{

class crossing_loops
{
public:
    // `ways` are all others, and outlive it.
    crossing_loops(const daemon_config &config, std::span<const loop_way> ways);

    [[nodiscard]] mrc_link_direction direction_of(protocol::plane_index plane, std::uint32_t spine) const;
    // By what the judge finds now.
    void follow(const fabric_judge &judge, protocol::instant now, loop_sender &sender);
    // choose(departure) for each loop that is to leave now; is_up(plane).
    template <typename Up, typename Choose>
    void send(Up is_up, Choose choose) const
    {
        for (const plane_finder &of : planes_)
            for (std::uint32_t loop = 0; of.finder.now() && is_up(of.plane) && loop < of.records.size(); ++loop)
                if (!of.records[loop].is_full())
                    choose(loop_sender::departure{.way = of.row + loop, .number = of.records[loop].next_number()});
    }
    // False: it is another's.
    bool on_sent(std::uint32_t row, protocol::instant now);
    // meanwhile(plane) is the reception; arrival(row, number) as loop_record has it.
    template <typename Meanwhile, typename Arrival>
    void judge(protocol::instant now, Meanwhile meanwhile, Arrival arrival)
    {
        for (plane_finder &of : planes_)
            for (std::uint32_t loop = 0; loop < of.records.size(); ++loop)
                of.records[loop].judge(
                    now, meanwhile(of.plane), [&](std::uint32_t number) { return arrival(of.row + loop, number); },
                    [&](const loop_outcome &seen) {
                        if (seen.fate == loop_fate::arrived || seen.fate == loop_fate::lost)
                            of.finder.take(loop, seen.fate == loop_fate::lost);
                    });
    }

private:
    struct plane_finder {
        protocol::plane_index plane;
        std::uint32_t row = 0; // of its first loop
        direction_finder finder;
        std::vector<loop_record> records; // by loop
    };

    const daemon_config &config_;
    std::span<const loop_way> ways_;
    std::vector<plane_finder> planes_;
};

} // namespace mrc::service
