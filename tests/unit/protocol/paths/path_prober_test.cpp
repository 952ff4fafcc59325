// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "protocol/paths/path_prober.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr plane_mask all{0xF};

struct sent {
    instant at;
    path_prober::probe probe;
};

// Runs the prober by its own deadlines.
std::vector<sent> run(path_prober &prober, instant from, instant to, plane_mask usable, plane_mask dark)
{
    std::vector<sent> probes;
    for (instant now = std::max(from, prober.next_deadline()); now < to; now = prober.next_deadline())
        if (const auto probe = prober.next(now, usable, dark))
            probes.push_back({now, *probe});
    return probes;
}

// The first probe from now on. A deadline may pass without one: the prober sees the masks only when asked.
sent first_probe(path_prober &prober, plane_mask dark)
{
    for (;;) {
        const instant now = prober.next_deadline();
        if (const auto probe = prober.next(now, all, dark))
            return {now, *probe};
    }
}

TEST(path_prober, retired_path_is_probed_every_interval)
{
    path_prober prober{{}, 4, 2};
    EXPECT_EQ(prober.next_deadline(), never);
    prober.start(3, start);
    const auto probes = run(prober, start, start + 26ms, all, {});
    ASSERT_EQ(probes.size(), 5u);
    for (std::size_t i = 0; i < probes.size(); ++i) {
        EXPECT_EQ(probes[i].probe.slot, 3u);
        EXPECT_EQ(probes[i].at, start + (static_cast<std::int64_t>(i) + 1) * 5ms);
    }
}

TEST(path_prober, three_answers_in_a_row_reinstate)
{
    path_prober prober{{}, 4, 2};
    prober.start(3, start);
    for (int answer = 1; answer <= 3; ++answer) {
        const auto [now, probe] = first_probe(prober, {});
        const auto result = prober.on_answer(probe.request_id, now + 50us);
        ASSERT_TRUE(result);
        EXPECT_EQ(result->slot, 3u);
        EXPECT_EQ(result->reinstate, answer == 3);
        EXPECT_FALSE(prober.on_answer(probe.request_id, now + 60us)) << "answered twice";
    }
}

TEST(path_prober, a_missing_or_late_answer_begins_anew)
{
    path_prober prober{{}, 1, 1};
    prober.start(0, start);
    const auto probe = [&] { return first_probe(prober, {}).probe.request_id; };
    const instant late = start + 1s;
    EXPECT_FALSE(prober.on_answer(probe(), start + 5ms)->reinstate);
    EXPECT_FALSE(prober.on_answer(probe(), start + 10ms)->reinstate);
    (void)probe(); // lost
    EXPECT_FALSE(prober.on_answer(probe(), start + 20ms)->reinstate) << "the streak was broken";
    EXPECT_FALSE(prober.on_answer(probe(), late)->reinstate) << "too slow to be good";
    EXPECT_FALSE(prober.on_answer(0x7777, late)) << "never asked";
}

TEST(path_prober, dead_plane_gets_two_probes_per_interval_by_turns)
{
    path_prober prober{{.spacing = 0ns}, 4, 8};
    for (unsigned slot = 8; slot < 16; ++slot)
        prober.start(slot, start);
    const auto probes = run(prober, start, start + 51ms, all, plane_mask{0b10});
    EXPECT_GE(probes.size(), 18u);
    EXPECT_LE(probes.size(), 21u);
    std::array<int, 16> times{};
    for (const sent &each : probes)
        ++times[each.probe.slot];
    for (unsigned slot = 8; slot < 16; ++slot)
        EXPECT_GE(times[slot], 2) << "a dead sentinel must not hide a living plane";
}

TEST(path_prober, whatever_stays_dead_keeps_no_dark_plane_from_being_asked)
{
    path_prober prober{{}, 4, 2};
    prober.start(0, start); // its plane lives
    for (unsigned slot = 2; slot < 6; ++slot)
        prober.start(slot, start);
    std::array<int, 4> asked{};
    for (const sent &each : run(prober, start, start + 200ms, all, plane_mask{0b110}))
        ++asked[each.probe.slot / 2];
    for (unsigned plane = 0; plane < 3; ++plane)
        EXPECT_GE(asked[plane], 10) << "plane " << plane;
}

TEST(path_prober, sentinel_that_answers_is_asked_again_at_once)
{
    constexpr unsigned uplinks = 256;
    path_prober prober{{}, 1, uplinks};
    for (unsigned slot = 0; slot < uplinks; ++slot)
        prober.start(slot, start);
    const auto [asked_at, first] = first_probe(prober, plane_mask{1});
    EXPECT_LE(asked_at, start + 5ms);
    EXPECT_FALSE(prober.on_answer(first.request_id, asked_at + 50us)->reinstate);
    const auto [second_at, second] = first_probe(prober, plane_mask{1});
    EXPECT_EQ(second.slot, first.slot);
    EXPECT_EQ(second_at, asked_at + 50us);
    EXPECT_FALSE(prober.on_answer(second.request_id, second_at + 50us)->reinstate);
    const auto [third_at, third] = first_probe(prober, plane_mask{1});
    EXPECT_EQ(third_at, second_at + 50us);
    EXPECT_TRUE(prober.on_answer(third.request_id, third_at + 50us)->reinstate);
}

TEST(path_prober, sentinel_that_relapsed_keeps_its_turn_but_is_not_hurried)
{
    path_prober prober{{}, 1, 8};
    for (unsigned slot = 0; slot < 8; ++slot) {
        prober.start(slot, start);
        prober.stop(slot, start + 1ms);
        prober.start(slot, start + 2ms);
    }
    const auto [asked_at, first] = first_probe(prober, plane_mask{1});
    ASSERT_TRUE(prober.on_answer(first.request_id, asked_at + 50us));
    const auto [second_at, second] = first_probe(prober, plane_mask{1});
    EXPECT_EQ(second.slot, first.slot);
    EXPECT_EQ(second_at, asked_at + 10ms);
}

TEST(path_prober, sentinel_that_answers_no_more_passes_its_turn_on)
{
    path_prober prober{{}, 1, 8};
    for (unsigned slot = 0; slot < 8; ++slot)
        prober.start(slot, start);
    const auto [asked_at, first] = first_probe(prober, plane_mask{1});
    ASSERT_TRUE(prober.on_answer(first.request_id, asked_at + 50us));
    EXPECT_EQ(first_probe(prober, plane_mask{1}).probe.slot, first.slot);
    EXPECT_NE(first_probe(prober, plane_mask{1}).probe.slot, first.slot);
}

TEST(path_prober, probes_asked_at_once_are_made_up_for)
{
    path_prober prober{{.successes = 4}, 8, 32};
    for (unsigned slot = 0; slot < 256; ++slot)
        prober.start(slot, start);
    constexpr plane_mask dark{0xFF};
    unsigned probes = 0;
    for (instant now = prober.next_deadline(); now < start + 1s; now = prober.next_deadline()) {
        const auto probe = prober.next(now, dark, dark);
        if (!probe)
            continue;
        if (++probes % 4 != 0) // never four times in a row
            (void)prober.on_answer(probe->request_id, now + 50us);
    }
    EXPECT_GT(probes, 190u);
    EXPECT_LE(probes, 200u + 3u);
}

TEST(path_prober, never_more_than_two_hundred_probes_a_second)
{
    path_prober prober{{}, 8, 32};
    for (unsigned slot = 0; slot < 256; ++slot)
        prober.start(slot, start);
    EXPECT_LE(run(prober, start, start + 1s, plane_mask{0xFF}, {}).size(), 200u);
}

TEST(path_prober, unusable_planes_are_not_probed)
{
    path_prober prober{{}, 2, 2};
    prober.start(0, start);
    prober.start(2, start);
    for (const sent &each : run(prober, start, start + 100ms, plane_mask{0b10}, {}))
        EXPECT_EQ(each.probe.slot, 2u);
}

TEST(path_prober, relapse_doubles_the_interval)
{
    path_prober prober{{}, 1, 1};
    instant now = start;
    duration expected = 5ms;
    for (int round = 0; round < 12; ++round) {
        prober.start(0, now);
        EXPECT_EQ(first_probe(prober, {}).at - now, expected);
        now += expected;
        prober.stop(0, now);
        expected = std::min<duration>(expected * 2, 1s);
    }
    prober.start(0, now + 11s);
    EXPECT_EQ(first_probe(prober, {}).at, now + 11s + 5ms) << "after ten good seconds all is forgiven";
}

} // namespace
} // namespace mrc::protocol
