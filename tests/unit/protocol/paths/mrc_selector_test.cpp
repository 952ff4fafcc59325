// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "protocol/paths/mrc_selector.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

path_group_config shape(unsigned planes, unsigned uplinks, unsigned active = 0)
{
    path_group_config config;
    config.planes = planes;
    config.uplinks = uplinks;
    config.active_per_plane = active;
    config.base = path_index{1};
    return config;
}

std::vector<unsigned> count_by_slot(path_group &group, mrc_selector &selector, unsigned draws)
{
    std::vector<unsigned> count(group.size());
    for (unsigned i = 0; i < draws; ++i)
        ++count[selector.draw(group, group.usable(), {})->slot];
    return count;
}

class mrc_selector_test : public testing::Test
{
protected:
    local_ports local{plane_mask{0xFF}};
};

TEST_F(mrc_selector_test, planes_differ_by_at_most_one_packet_at_any_time)
{
    path_group group{shape(4, 8), local};
    mrc_selector selector{group, 1};
    std::array<unsigned, 4> planes{};
    for (int i = 0; i < 10'000; ++i) {
        ++planes[selector.draw(group, group.usable(), {})->plane.value];
        const auto [least, most] = std::ranges::minmax(planes);
        ASSERT_LE(most - least, 1u);
    }
}

TEST_F(mrc_selector_test, all_active_paths_take_equal_turns_in_changing_order)
{
    path_group group{shape(4, 8, 5), local};
    mrc_selector selector{group, 1};
    const auto count = count_by_slot(group, selector, 20 * 100);
    for (unsigned slot = 0; slot < group.size(); ++slot)
        EXPECT_EQ(count[slot], group.active(slot) ? 100u : 0u);

    std::vector<std::vector<unsigned>> rounds(10);
    for (auto &round : rounds)
        for (int i = 0; i < 20; ++i)
            round.push_back(selector.draw(group, group.usable(), {})->slot);
    EXPECT_NE(rounds[0], rounds[1]) << "the order is drawn anew every round";
    mrc_selector twin{group, 2};
    std::vector<unsigned> other(20);
    for (unsigned &slot : other)
        slot = twin.draw(group, group.usable(), {})->slot;
    EXPECT_NE(other, rounds[0]) << "QPs are not in step";
}

TEST_F(mrc_selector_test, skipped_path_loses_one_turn)
{
    path_group group{shape(1, 4), local};
    mrc_selector selector{group, 1};
    selector.on_feedback(2, path_feedback::congested);
    const auto count = count_by_slot(group, selector, 400);
    EXPECT_FALSE(selector.skipped(2));
    EXPECT_NEAR(count[2], 99, 1.1);
}

TEST_F(mrc_selector_test, one_scan_restores_only_the_first_skipped_path)
{
    path_group group{shape(1, 4), local};
    mrc_selector selector{group, 1};
    for (std::uint16_t slot = 0; slot < 3; ++slot)
        selector.on_feedback(slot, path_feedback::congested);
    EXPECT_EQ(selector.draw(group, group.usable(), {})->slot, 3u);
    unsigned still = 0;
    for (std::uint16_t slot = 0; slot < 4; ++slot)
        still += selector.skipped(slot) ? 1 : 0;
    EXPECT_GE(still, 2u);
}

// Marked at any moment of a generation, with the selector told of the time often or hardly.
TEST_F(mrc_selector_test, skip_ends_by_time_after_a_half_to_a_whole_round_trip)
{
    constexpr duration rtt = 80us;
    path_group group{shape(1, 16), local};
    for (const duration often : {duration{1us}, duration{7us}, rtt})
        for (duration phase = 0us; phase < 2 * rtt; phase += 1us) {
            SCOPED_TRACE(phase / 1us);
            mrc_selector selector{group, 1};
            const auto pass = [&](instant from, instant until) {
                for (instant at = from; at < until; at += often)
                    selector.on_time(at, rtt);
                selector.on_time(until, rtt);
            };
            const instant marked = start + phase;
            pass(start, marked);
            selector.on_feedback(2, path_feedback::congested);
            selector.on_feedback(13, path_feedback::trimmed);
            pass(marked, marked + rtt / 2 - 1ns);
            EXPECT_EQ(selector.skipped_paths(), 2u) << "no turn has come, and it is too early";
            pass(marked + rtt / 2, marked + rtt);
            EXPECT_EQ(selector.skipped_paths(), 0u);
        }
}

TEST_F(mrc_selector_test, skip_ends_by_time_no_later_when_congested_again)
{
    constexpr duration rtt = 80us;
    path_group group{shape(1, 4), local};
    mrc_selector selector{group, 1};
    selector.on_time(start, rtt);
    selector.on_feedback(2, path_feedback::congested);
    selector.on_time(start + rtt / 2, rtt);
    selector.on_feedback(2, path_feedback::congested);
    selector.on_feedback(3, path_feedback::congested);
    EXPECT_TRUE(selector.skipped(2));
    selector.on_time(start + rtt, rtt);
    EXPECT_FALSE(selector.skipped(2));
    EXPECT_TRUE(selector.skipped(3));
}

TEST_F(mrc_selector_test, skip_is_restored_by_its_turn_in_either_generation)
{
    constexpr duration rtt = 80us;
    path_group group{shape(1, 4), local};
    mrc_selector selector{group, 1};
    selector.on_time(start, rtt);
    selector.on_feedback(1, path_feedback::congested);
    selector.on_time(start + rtt / 2, rtt);
    selector.on_feedback(2, path_feedback::congested);
    (void)count_by_slot(group, selector, 8);
    EXPECT_EQ(selector.skipped_paths(), 0u);
}

TEST_F(mrc_selector_test, skip_ends_by_time_only_once_a_round_trip_is_known)
{
    constexpr duration rtt = 80us;
    path_group group{shape(1, 4), local};
    mrc_selector selector{group, 1};
    selector.on_time(start, duration{0});
    selector.on_feedback(1, path_feedback::congested);
    selector.on_time(start + 1s, duration{0});
    EXPECT_TRUE(selector.skipped(1));
    selector.on_feedback(2, path_feedback::congested);
    selector.on_time(start + 1s + rtt / 4, rtt);
    EXPECT_TRUE(selector.skipped(2)) << "it is new";
    selector.on_time(start + 1s + rtt, rtt);
    EXPECT_EQ(selector.skipped_paths(), 0u);
}

TEST_F(mrc_selector_test, all_skipped_does_not_stall)
{
    path_group group{shape(2, 2), local};
    mrc_selector selector{group, 1};
    for (int i = 0; i < 100; ++i) {
        for (std::uint16_t slot = 0; slot < 4; ++slot)
            selector.on_feedback(slot, path_feedback::congested);
        ASSERT_TRUE(selector.draw(group, group.usable(), {}));
    }
}

TEST_F(mrc_selector_test, congestion_does_not_shift_load_between_planes)
{
    path_group group{shape(2, 4), local};
    mrc_selector selector{group, 1};
    std::array<unsigned, 2> planes{};
    for (int i = 0; i < 1000; ++i) {
        selector.on_feedback(static_cast<std::uint16_t>(i % 4), path_feedback::congested); // plane 0 only
        ++planes[selector.draw(group, group.usable(), {})->plane.value];
    }
    EXPECT_EQ(planes[0], planes[1]);
}

TEST_F(mrc_selector_test, retired_paths_and_lost_planes_are_not_drawn)
{
    path_group group{shape(4, 4), local};
    mrc_selector selector{group, 1};
    group.on_silence(5, start, start);
    local.up.set(plane_index{2}, false);
    const auto count = count_by_slot(group, selector, 1200);
    EXPECT_EQ(count[5], 0u);
    for (unsigned slot = 8; slot < 12; ++slot)
        EXPECT_EQ(count[slot], 0u);
    EXPECT_EQ(count[4] + count[6] + count[7], 400u) << "the plane keeps its share";
}

TEST_F(mrc_selector_test, avoided_plane_keeps_its_turn)
{
    path_group group{shape(4, 2), local};
    mrc_selector selector{group, 1};
    std::array<unsigned, 4> planes{};
    for (int i = 0; i < 4000; ++i) {
        plane_mask avoid;
        avoid.set(plane_index{static_cast<std::uint8_t>(i % 4)}, i % 3 == 0);
        const auto path = selector.draw(group, group.usable(), {.planes = avoid, .slot = {}});
        EXPECT_FALSE(avoid.has(path->plane));
        ++planes[path->plane.value];
    }
    const auto [least, most] = std::ranges::minmax(planes);
    EXPECT_LT(most - least, most / 10);
    EXPECT_TRUE(selector.draw(group, group.usable(), {.planes = plane_mask{0xF}, .slot = {}}))
        << "nothing else is left";
}

TEST_F(mrc_selector_test, avoided_path_is_drawn_only_when_it_is_the_only_one)
{
    path_group group{shape(1, 3), local};
    mrc_selector selector{group, 1};
    const path_avoidance avoid{.planes = plane_mask{1}, .slot = 1};
    for (int i = 0; i < 100; ++i) {
        for (std::uint16_t slot = 0; slot < 3 && i % 3 == 0; ++slot)
            selector.on_feedback(slot, path_feedback::congested); // even so
        EXPECT_NE(selector.draw(group, group.usable(), avoid)->slot, 1u);
        (void)selector.draw(group, group.usable(), {});
    }
    group.deny(0);
    group.deny(2);
    EXPECT_EQ(selector.draw(group, group.usable(), avoid)->slot, 1u);
    selector.on_feedback(1, path_feedback::trimmed);
    EXPECT_EQ(selector.draw(group, group.usable(), avoid)->slot, 1u);
}

TEST_F(mrc_selector_test, without_good_paths_the_least_lossy_carry_on)
{
    path_group group{shape(2, 2), local};
    mrc_selector selector{group, 1};
    group.on_loss(0, start);
    for (unsigned slot = 0; slot < 4; ++slot)
        group.on_silence(slot, start, start);
    // ev_min_active kept one alive; its plane goes.
    for (std::uint8_t plane = 0; plane < 2; ++plane)
        if (group.good_planes().has(plane_index{plane}))
            local.up.set(plane_index{plane}, false);
    ASSERT_TRUE((group.usable() & group.good_planes()).empty());
    const auto path = selector.draw(group, group.usable(), {});
    ASSERT_TRUE(path);
    EXPECT_EQ(group.state(path->slot), path_state::assumed_bad);
}

TEST_F(mrc_selector_test, nothing_is_drawn_without_a_usable_plane_or_from_denied_paths)
{
    path_group group{shape(2, 1), local};
    mrc_selector selector{group, 1};
    group.deny(0);
    EXPECT_EQ(selector.draw(group, group.usable(), {})->slot, 1u);
    group.deny(1);
    EXPECT_FALSE(selector.draw(group, group.usable(), {}));
    group.allow(1);
    local.up = plane_mask{};
    EXPECT_FALSE(selector.draw(group, group.usable(), {}));
}

} // namespace
} // namespace mrc::protocol
