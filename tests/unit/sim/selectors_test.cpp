// SPDX-License-Identifier: Apache-2.0
// The selectors that MRC's is compared with. mrc_selector has its own test.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "sim/selectors/oblivious_selector.h"
#include "sim/selectors/reps_selector.h"
#include "sim/selectors/single_path_selector.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr instant start{1s};

// Paths that delivered without a mark, in this order.
void deliver(path_selector &selector, std::initializer_list<std::uint16_t> slots)
{
    for (const std::uint16_t slot : slots)
        selector.on_feedback(slot, path_feedback::clean);
}

path_group_config shape(unsigned planes, unsigned uplinks, unsigned active = 0)
{
    path_group_config config;
    config.planes = planes;
    config.uplinks = uplinks;
    config.active_per_plane = active;
    config.base = path_index{1};
    return config;
}

plane_mask only(std::uint8_t plane)
{
    plane_mask mask;
    mask.set(plane_index{plane}, true);
    return mask;
}

class selectors_test : public testing::Test
{
protected:
    local_ports local{plane_mask{0xFF}};
};

// A path, or slot 65535 and a failure.
path_choice drawn(const path_group &group, path_selector &selector, plane_mask usable, plane_mask avoid = {})
{
    const auto path = selector.draw(group, usable, {.planes = avoid, .slot = {}});
    EXPECT_TRUE(path);
    return path.value_or(path_choice{.index = {}, .entropy = {}, .plane = {}, .slot = 0xFFFF});
}

path_choice drawn(const path_group &group, path_selector &selector)
{
    return drawn(group, selector, group.usable());
}

std::vector<unsigned> count_by_slot(const path_group &group, path_selector &selector, unsigned draws)
{
    std::vector<unsigned> count(group.size());
    for (unsigned i = 0; i < draws; ++i)
        ++count[drawn(group, selector).slot];
    return count;
}

// What holds for each of them.

class any_selector_test : public testing::TestWithParam<const char *>
{
protected:
    [[nodiscard]] static std::unique_ptr<path_selector> make(std::uint64_t seed = 1)
    {
        const std::string_view name = GetParam();
        if (name == "oblivious")
            return std::make_unique<sim::oblivious_selector>(seed);
        if (name == "reps")
            return std::make_unique<sim::reps_selector>(seed);
        return std::make_unique<sim::single_path_selector>(seed);
    }

    local_ports local{plane_mask{0xFF}};
};

TEST_P(any_selector_test, only_usable_planes_of_the_fabric_and_permitted_paths_are_drawn)
{
    path_group group{shape(3, 2), local};
    const auto selector = make();
    group.deny(3);
    for (int i = 0; i < 1000; ++i) {
        const plane_mask usable{1u + static_cast<std::uint32_t>(i) * 7 % 0xFFu};
        const auto path = selector->draw(group, usable, {});
        ASSERT_EQ(path.has_value(), (usable.bits() & 0x7u) != 0);
        if (!path)
            continue;
        ASSERT_TRUE(usable.has(path->plane));
        ASSERT_NE(path->slot, 3u);
        selector->on_feedback(path->slot, i % 50 == 0 ? path_feedback::lost : path_feedback::clean);
    }
}

TEST_P(any_selector_test, nothing_is_drawn_without_a_usable_plane_or_from_denied_paths)
{
    path_group group{shape(2, 1), local};
    const auto selector = make();
    EXPECT_FALSE(selector->draw(group, {}, {}));
    group.deny(0);
    EXPECT_EQ(drawn(group, *selector).slot, 1u);
    group.deny(1);
    EXPECT_FALSE(selector->draw(group, group.usable(), {}));
    EXPECT_FALSE(selector->draw(group, group.usable(), {.planes = only(0), .slot = {}}));
}

TEST_P(any_selector_test, health_changes_nothing_as_long_as_there_is_no_backup)
{
    path_group group{shape(1, 2), local};
    const auto selector = make();
    group.on_silence(0, start, start);
    group.on_silence(1, start, start);
    EXPECT_TRUE(selector->draw(group, group.usable(), {}));
}

INSTANTIATE_TEST_SUITE_P(all, any_selector_test, testing::Values("oblivious", "reps", "single_path"),
                         [](const auto &instance) { return instance.param; });

TEST_F(selectors_test, oblivious_draws_planes_and_paths_uniformly)
{
    path_group group{shape(4, 8, 5), local};
    sim::oblivious_selector selector{1};
    const auto count = count_by_slot(group, selector, 20 * 1000);
    for (unsigned slot = 0; slot < group.size(); ++slot)
        EXPECT_NEAR(count[slot], group.active(slot) ? 1000 : 0, 150) << "five standard deviations";
}

TEST_F(selectors_test, oblivious_gives_each_plane_its_share_whatever_is_denied)
{
    path_group group{shape(2, 4), local};
    sim::oblivious_selector selector{1};
    group.deny(0);
    group.deny(1);
    const auto count = count_by_slot(group, selector, 10'000);
    EXPECT_NEAR(count[2] + count[3], 5000, 250);
}

TEST_F(selectors_test, oblivious_learns_nothing)
{
    path_group group{shape(2, 4), local};
    sim::oblivious_selector selector{1};
    sim::oblivious_selector twin{1};
    for (int i = 0; i < 1000; ++i) {
        const path_choice path = drawn(group, selector);
        selector.on_feedback(path.slot, path_feedback::lost);
        ASSERT_EQ(path.slot, drawn(group, twin).slot);
    }
}

TEST_F(selectors_test, oblivious_and_reps_leave_avoided_planes_out)
{
    path_group group{shape(2, 4), local};
    sim::oblivious_selector oblivious{1};
    sim::reps_selector reps{1};
    for (int i = 0; i < 100; ++i) {
        reps.on_feedback(0, path_feedback::clean); // of plane 0
        EXPECT_EQ(drawn(group, oblivious, group.usable(), only(0)).plane, plane_index{1});
        EXPECT_EQ(drawn(group, reps, group.usable(), only(0)).plane, plane_index{1});
    }
    EXPECT_EQ(drawn(group, oblivious, only(0), only(0)).plane, plane_index{0}) << "nothing else is left";
    EXPECT_EQ(drawn(group, reps, only(0), only(0)).plane, plane_index{0});
}

TEST_F(selectors_test, oblivious_and_reps_avoid_a_path_as_long_as_there_is_another)
{
    path_group group{shape(1, 3), local};
    sim::oblivious_selector oblivious{1};
    sim::reps_selector reps{1};
    const path_avoidance avoid{.planes = only(0), .slot = 2};
    for (int i = 0; i < 100; ++i) {
        reps.on_feedback(2, path_feedback::clean);
        for (path_selector *each : {static_cast<path_selector *>(&oblivious), static_cast<path_selector *>(&reps)})
            EXPECT_NE(each->draw(group, group.usable(), avoid)->slot, 2u);
    }
    group.deny(0);
    group.deny(1);
    EXPECT_EQ(oblivious.draw(group, group.usable(), avoid)->slot, 2u);
    EXPECT_EQ(reps.draw(group, group.usable(), avoid)->slot, 2u);
}

TEST_F(selectors_test, single_path_stays_whatever_happens)
{
    path_group group{shape(4, 8), local};
    sim::single_path_selector selector{5};
    const path_choice path = drawn(group, selector);
    for (int i = 0; i < 1000; ++i) {
        selector.on_feedback(path.slot, path_feedback::lost);
        ASSERT_EQ(drawn(group, selector, group.usable(), only(path.plane.value)).slot, path.slot);
    }
    group.on_silence(path.slot, start, start);
    EXPECT_EQ(drawn(group, selector).slot, path.slot);
}

TEST_F(selectors_test, single_paths_of_many_qps_spread)
{
    path_group group{shape(4, 8), local};
    std::vector<unsigned> count(group.size());
    for (unsigned seed = 0; seed < 32 * 100; ++seed) {
        sim::single_path_selector selector{seed};
        ++count[drawn(group, selector).slot];
    }
    const auto [least, most] = std::ranges::minmax(count);
    EXPECT_GT(least, 50u);
    EXPECT_LT(most, 150u);
}

TEST_F(selectors_test, single_path_moves_for_good_when_its_plane_is_lost)
{
    path_group group{shape(4, 8), local};
    sim::single_path_selector selector{5};
    const path_choice first = drawn(group, selector);
    local.up.set(first.plane, false);
    const path_choice second = drawn(group, selector);
    EXPECT_NE(second.plane, first.plane);
    local.up.set(first.plane, true);
    EXPECT_EQ(drawn(group, selector).slot, second.slot);
    group.deny(second.slot);
    EXPECT_NE(drawn(group, selector).slot, second.slot);
}

TEST_F(selectors_test, reps_recycles_a_clean_path_once)
{
    path_group group{shape(4, 64), local};
    sim::reps_selector selector{1};
    deliver(selector, {7, 100, 7});
    selector.on_feedback(8, path_feedback::congested);
    selector.on_feedback(9, path_feedback::trimmed);
    EXPECT_EQ(selector.fresh(), 3u);
    for (const unsigned slot : {7u, 100u, 7u})
        EXPECT_EQ(drawn(group, selector).slot, slot) << "oldest first";
    EXPECT_EQ(selector.fresh(), 0u);
    std::set<unsigned> explored;
    for (int i = 0; i < 100; ++i)
        explored.insert(drawn(group, selector).slot);
    EXPECT_GT(explored.size(), 60u) << "at random when nothing is fresh";
}

TEST_F(selectors_test, reps_keeps_the_newest_eight)
{
    path_group group{shape(1, 32), local};
    sim::reps_selector selector{1};
    for (std::uint16_t slot = 0; slot < 20; ++slot)
        selector.on_feedback(slot, path_feedback::clean);
    for (unsigned slot = 12; slot < 20; ++slot)
        EXPECT_EQ(drawn(group, selector).slot, slot);
    EXPECT_EQ(selector.fresh(), 0u);
    EXPECT_EQ(selector.cached(), 8u) << "used ones are kept for freezing";
}

TEST_F(selectors_test, reps_converges_on_the_paths_that_are_not_congested)
{
    path_group group{shape(1, 32), local};
    sim::reps_selector selector{1};
    unsigned clean = 0;
    for (int i = 0; i < 2000; ++i) {
        const std::uint16_t slot = drawn(group, selector).slot;
        const bool congested = slot < 24;
        clean += congested ? 0 : 1;
        selector.on_feedback(slot, congested ? path_feedback::congested : path_feedback::clean);
    }
    EXPECT_GT(clean, 1800u) << "a quarter of the paths is clean; spraying would find 500";
}

TEST_F(selectors_test, reps_frozen_by_loss_uses_only_what_it_knows)
{
    path_group group{shape(2, 64), local};
    sim::reps_selector selector{1, {.freeze_draws = 20, .explore_draws = 4}};
    deliver(selector, {1, 2, 3});
    EXPECT_EQ(drawn(group, selector).slot, 1u);
    selector.on_feedback(60, path_feedback::lost);
    ASSERT_EQ(selector.mode(), sim::reps_mode::frozen);
    for (unsigned i = 0; i < 19; ++i)
        EXPECT_EQ(drawn(group, selector).slot, 1 + i % 3) << "used ones too, in turn";
    EXPECT_EQ(selector.mode(), sim::reps_mode::frozen);
    (void)selector.draw(group, group.usable(), {});
    EXPECT_EQ(selector.mode(), sim::reps_mode::exploring);
    EXPECT_EQ(selector.cached(), 0u);

    selector.on_feedback(60, path_feedback::lost);
    EXPECT_EQ(selector.mode(), sim::reps_mode::exploring) << "no freezing with nothing learned";
    selector.on_feedback(70, path_feedback::clean);
    for (int i = 0; i < 4; ++i)
        EXPECT_NE(drawn(group, selector).slot, 70u);
    EXPECT_EQ(selector.mode(), sim::reps_mode::recycling);
    EXPECT_EQ(drawn(group, selector).slot, 70u);
}

TEST_F(selectors_test, reps_frozen_with_an_empty_cache_explores)
{
    path_group group{shape(1, 16), local};
    sim::reps_selector selector{1};
    selector.on_feedback(3, path_feedback::lost);
    ASSERT_EQ(selector.mode(), sim::reps_mode::frozen);
    std::set<unsigned> explored;
    for (int i = 0; i < 200; ++i)
        explored.insert(drawn(group, selector).slot);
    EXPECT_EQ(explored.size(), 16u);
    selector.on_feedback(5, path_feedback::clean);
    EXPECT_EQ(drawn(group, selector).slot, 5u) << "clean SACKs fill the cache of a frozen one";
}

TEST_F(selectors_test, reps_passes_over_cached_paths_of_lost_planes)
{
    path_group group{shape(2, 4), local};
    for (const bool frozen : {false, true}) {
        sim::reps_selector selector{1};
        deliver(selector, {0, 1, 6});
        if (frozen)
            selector.on_feedback(2, path_feedback::lost);
        EXPECT_EQ(drawn(group, selector, only(1)).slot, 6u);
    }
}

} // namespace
} // namespace mrc::protocol
