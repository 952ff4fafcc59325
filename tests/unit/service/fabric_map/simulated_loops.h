// SPDX-License-Identifier: Apache-2.0
// A host's fabric map on simulated time: two planes or more of two spines, through which loops go as a test says.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "service/fabric_map/fabric_judge.h"
#include "service/fabric_map/loop_record.h"
#include "service/fabric_map/loop_schedule.h"
#include "service/fabric_map/loop_ways.h"

namespace mrc::service::test
{

using namespace std::chrono_literals;
using protocol::duration;
using protocol::instant;

inline daemon_config fabric_of(unsigned planes, unsigned uplinks)
{
    daemon_config config;
    config.fabric.planes = static_cast<std::uint8_t>(planes);
    config.fabric.uplinks = uplinks;
    config.fabric.leaves = 2;
    config.fabric_map.interval_us = 5000;
    for (unsigned plane = 0; plane < planes; ++plane) {
        port_options port;
        port.plane = protocol::plane_index{static_cast<std::uint8_t>(plane)};
        config.ports.push_back(port);
    }
    return config;
}

class simulated_loops
{
public:
    explicit simulated_loops(unsigned planes, unsigned uplinks = 2, std::uint32_t seed = 1)
        : uplinks_{uplinks}, ways{loop_ways_of(fabric_of(planes, uplinks))}, random_{seed}
    {
    }

    // When a loop that leaves at that time is back; none: never.
    std::function<std::optional<duration>(std::uint32_t way, instant now)> travel = [](auto, auto) { return 20us; };
    // Until then the sender's thread does not run.
    instant asleep_until = instant::min();

    [[nodiscard]] std::uint32_t leaf(unsigned plane) const { return plane * (1 + uplinks_); }
    [[nodiscard]] std::uint32_t spine(unsigned plane, unsigned number) const { return leaf(plane) + 1 + number; }
    [[nodiscard]] bool happens(double probability) { return std::bernoulli_distribution{probability}(random_); }
    [[nodiscard]] instant now() const { return now_; }
    [[nodiscard]] const link_verdict &verdict(std::uint32_t way) const { return judge_.verdict(way); }

    // Which ways of the plane lead over what is named: all do over the leaf.
    [[nodiscard]] bool is_on(std::uint32_t way, std::uint32_t over) const
    {
        return way == over || (over == ways[over].leaf_row && ways[way].leaf_row == over);
    }

    void run(duration time)
    {
        for (const instant end = now_ + time; now_ < end; now_ += step)
            if (now_ >= asleep_until)
                round();
    }
    // Until the way has this state; how long that took, at most `most`.
    duration run_until(std::uint32_t way, mrc_link_state state, duration most)
    {
        const instant begin = now_;
        while (verdict(way).state != state && now_ - begin < most)
            run(step);
        return now_ - begin;
    }
    // Ways that are at fault.
    [[nodiscard]] std::vector<std::uint32_t> faults() const
    {
        std::vector<std::uint32_t> all;
        for (std::uint32_t way = 0; way < ways.size(); ++way)
            if (verdict(way).is_fault())
                all.push_back(way);
        return all;
    }
    // And all that ever were.
    std::map<std::uint32_t, mrc_link_blame> ever_blamed;

private:
    struct flight {
        std::uint32_t number = 0;
        instant sent{};
        std::optional<duration> took{};
    };
    static constexpr duration step = 1ms;

    void round()
    {
        if (now_ - last_round_ > 20ms)
            punctual_since_ = now_;
        last_round_ = now_;
        for (std::uint32_t way = 0; way < ways.size(); ++way)
            judge_way(way);
        schedule_.round(
            now_, [this](std::uint32_t way) { return judge_.is_suspect(way, now_); },
            [this](std::uint32_t way) { send(way); });
        if (now_ - evaluated_ < 20ms)
            return;
        evaluated_ = now_;
        for (const std::uint32_t way : judge_.evaluate(now_))
            if (verdict(way).is_fault())
                ever_blamed[way] = verdict(way).blame;
    }

    void send(std::uint32_t way)
    {
        if (records_[way].is_full())
            return;
        flights_[way][records_[way].next_number() % loop_record::slots] = {
            .number = records_[way].next_number(), .sent = now_, .took = travel(way, now_)};
        records_[way].on_sent(now_);
    }

    void judge_way(std::uint32_t way)
    {
        reception meanwhile{.punctual_since = punctual_since_};
        for (std::uint32_t other = 0; other < ways.size(); ++other)
            if (ways[other].plane != ways[way].plane || (ways[way].spine && other == ways[way].leaf_row))
                meanwhile.heard = std::max(meanwhile.heard, heard_[other]);
        records_[way].judge(
            now_, meanwhile, [&](std::uint32_t number) { return arrival(way, number); },
            [&](const loop_outcome &loop) {
                judge_.take(way, loop);
                if (loop.rtt_ns != 0)
                    heard_[way] = std::max(heard_[way], loop.sent);
            });
    }

    [[nodiscard]] std::optional<std::uint32_t> arrival(std::uint32_t way, std::uint32_t number)
    {
        const flight &of = flights_[way][number % loop_record::slots];
        if (of.number != number || !of.took || of.sent + *of.took > now_)
            return std::nullopt;
        return static_cast<std::uint32_t>(of.took->count());
    }

    unsigned uplinks_;

public:
    std::vector<loop_way> ways;

private:
    std::mt19937 random_;
    instant now_ = instant{1h};
    instant last_round_ = now_;
    instant punctual_since_ = now_;
    instant evaluated_ = now_;
    std::vector<loop_record> records_{ways.size()};
    std::vector<std::array<flight, loop_record::slots>> flights_{ways.size()};
    std::vector<instant> heard_ = std::vector<instant>(ways.size(), instant::min());
    fabric_judge judge_{ways, {}};
    loop_schedule schedule_{ways, {.interval = 5ms, .suspect_interval = 1ms, .per_second = 4000}};
};

} // namespace mrc::service::test
