// SPDX-License-Identifier: Apache-2.0
// Planes as a whole: how their silence is noticed, what it does to their paths, and how they come back.
#include "unit/protocol/paths/path_group_fixture.h"

namespace mrc::protocol
{
namespace
{

using path_group_planes = path_group_test;

TEST_F(path_group_planes, silent_plane_is_retired_at_once)
{
    path_group group{four_by(8), local};
    for (unsigned slot = 8; slot < 12; ++slot)
        group.on_sent(slot, false);
    group.on_silence(8, start, start + 1ms);
    EXPECT_FALSE((group.usable() & group.good_planes()).has(plane_index{1}));
    EXPECT_EQ((group.usable() & group.good_planes()).bits(), 0b1101u);
    EXPECT_EQ(group.silence_generation(), 8u);
}

TEST_F(path_group_planes, paths_that_fell_silent_with_their_plane_come_back_with_it)
{
    path_group group{four_by(256), local};
    lose_plane(group, 1, start);
    ASSERT_EQ(paths_in_use(group, 1), 0u);
    const instant returns = start + 300ms;
    (void)probe_until(
        group, start + 1ms, [](unsigned) { return false; }, [&] { return group.next_deadline() > returns; });
    const auto [ended, probes] =
        probe_until(group, returns, [](unsigned) { return true; }, [&] { return group.next_deadline() == never; });
    EXPECT_EQ(paths_in_use(group, 1), 256u);
    EXPECT_LT(ended - returns, 10ms) << "an interval and three round trips; by 200 probes a second it would be 3.8 s";
    EXPECT_EQ(probes, 3u);
}

TEST_F(path_group_planes, one_path_that_lives_brings_its_silent_plane_back)
{
    path_group group{four_by(16), local};
    lose_plane(group, 1, start);
    const auto [ended, probes] =
        probe_until(group, start + 1ms, [](unsigned slot) { return slot == 27; }, [&] { return group.in_use(27); });
    EXPECT_EQ(paths_in_use(group, 1), 16u) << "the others are blamed again by those who use them";
    EXPECT_LT(ended - start, 100ms);
    EXPECT_EQ(probes, 11u + 3u) << "by turns";

    for (int n = 0; n < 2; ++n)
        group.on_unanswered(16, ended + 1us, ended + 100us);
    EXPECT_EQ(group.state(16), path_state::assumed_bad);
    EXPECT_EQ(paths_in_use(group, 1), 15u);
    const auto again =
        probe_until(group, ended + 100us, [](unsigned) { return true; }, [&] { return group.in_use(16); });
    EXPECT_GE(again.ended - ended, 30ms) << "three intervals, twice as long as before";
}

TEST_F(path_group_planes, path_that_was_bad_before_its_plane_stays_bad_after_it)
{
    path_group group{four_by(8), local};
    group.on_silence(9, start, start + 1ms);
    group.on_loss(10, start + 1ms);
    group.on_loss(10, start + 1ms);
    group.on_delivered(8, start + 2ms);
    lose_plane(group, 1, start + 3ms);
    ASSERT_EQ(paths_in_use(group, 1), 0u);
    (void)probe_until(
        group, start + 4ms, [](unsigned slot) { return slot != 9 && slot != 10; },
        [&] { return group.good_planes().has(plane_index{1}); });
    EXPECT_EQ(paths_in_use(group, 1), 6u);
    EXPECT_EQ(group.state(9), path_state::assumed_bad);
    EXPECT_EQ(group.state(10), path_state::assumed_bad);
}

TEST_F(path_group_planes, plane_that_came_back_is_not_lost_again_for_what_it_lost_before)
{
    path_group group{four_by(8), local};
    lose_plane(group, 1, start);
    const auto [ended, probes] = probe_until(
        group, start + 1ms, [](unsigned) { return true; }, [&] { return group.good_planes().has(plane_index{1}); });
    group.on_sent(9, false);
    group.on_silence(9, ended + 1us, ended + 300us);
    EXPECT_EQ(paths_in_use(group, 1), 7u) << "one packet is no silence of a plane";
}

TEST_F(path_group_planes, plane_that_delivers_loses_only_the_silent_path)
{
    path_group group{four_by(8), local};
    for (unsigned slot = 8; slot < 12; ++slot)
        group.on_sent(slot, false);
    group.on_delivered(9, start + 1us);
    group.on_silence(8, start, start + 1ms);
    EXPECT_EQ(paths_in_use(group, 1), 7u);
}

TEST_F(path_group_planes, plane_is_suspected_at_once_when_nothing_of_it_got_through)
{
    path_group group{four_by(8), local};
    for (unsigned slot = 0; slot < 32; ++slot) {
        group.on_sent(slot, false);
        if (slot / 8 != 2)
            group.on_delivered(slot, start + 1us);
    }
    group.on_unanswered(17, start, start + 50us);
    group.on_unanswered(19, start, start + 50us);
    EXPECT_EQ(group.good_planes().bits(), 0b1111u) << "a slow plane may lose two in a row";
    group.on_unanswered(22, start, start + 50us);
    for (unsigned slot = 16; slot < 24; ++slot)
        EXPECT_EQ(group.state(slot), path_state::assumed_bad);
    EXPECT_EQ(group.good_planes().bits(), 0b1011u);
}

TEST_F(path_group_planes, lagging_plane_is_not_blamed_for_what_is_unanswered)
{
    path_group group{four_by(2), local};
    const duration tolerance = 100us;
    for (unsigned slot = 0; slot < 8; ++slot)
        group.on_sent(slot, false);
    group.on_sent(4, false);
    group.on_delivered(0, start + 60us);
    for (int n = 0; n < 3; ++n)
        group.on_unanswered(4, start + n * 1us, start + 300us, tolerance);
    EXPECT_EQ(group.state(4), path_state::good);
    group.on_delivered(0, start + 100us);
    group.on_unanswered(4, start + 90us, start + 300us, tolerance);
    EXPECT_EQ(group.state(4), path_state::assumed_bad);
}

// Plane 2 is silent since `start` as far as anybody knows, and known to lag by half of `lag` now and then.
void suspect_plane(path_group &group, instant now, duration lag)
{
    const unsigned first = 2 * group.uplinks();
    for (int n = 0; n < 4; ++n)
        group.on_sent(first, false);
    group.on_delivered(0, start + lag / 2);
    for (int n = 0; n < 3; ++n)
        group.on_unanswered(first, start + n * 1us, now, lag);
}

TEST_F(path_group_planes, suspected_plane_is_avoided_at_once_and_used_again_with_the_first_answer)
{
    path_group group{four_by(8), local};
    instant now = start + 300us;
    suspect_plane(group, now, 8ms);
    EXPECT_EQ(group.good_planes().bits(), 0b1011u) << "though a lag of 8 ms would be none";
    EXPECT_EQ(group.next_deadline(), now);
    const auto question = group.next_packet(now);
    ASSERT_TRUE(question);
    EXPECT_EQ(group.slot_at(question->path).value() / 8, 2u);
    now += 3ms; // it lags
    answer(group, *question, now);
    EXPECT_EQ(group.good_planes().bits(), 0b1111u);
    EXPECT_EQ(group.silence_generation(), 0u);
    EXPECT_FALSE(group.next_transition()) << "nothing has happened";
}

TEST_F(path_group_planes, suspected_plane_is_used_again_with_the_first_delivery)
{
    path_group group{four_by(8), local};
    suspect_plane(group, start + 300us, 8ms);
    group.on_delivered(17, start - 1us);
    EXPECT_EQ(group.good_planes().bits(), 0b1011u) << "sent before the silence";
    group.on_delivered(17, start + 5us);
    EXPECT_EQ(group.good_planes().bits(), 0b1111u);
}

TEST_F(path_group_planes, suspected_plane_that_answers_nothing_is_blamed)
{
    path_group group{four_by(8), local};
    const instant suspected = start + 300us;
    suspect_plane(group, suspected, 8ms);
    const auto [ended, questions] =
        probe_until(group, suspected, [](unsigned) { return false; }, [&] { return group.silenced(16); });
    EXPECT_EQ(ended, suspected + 10ms);
    EXPECT_EQ(questions, 2u + 1u) << "the third is a sentinel's";
    EXPECT_EQ(paths_in_use(group, 2), 0u);
    EXPECT_EQ(group.silence_generation(), 8u);
}

TEST_F(path_group_planes, suspected_plane_is_blamed_when_others_are_ahead_by_more_than_it_lags)
{
    path_group group{four_by(8), local};
    suspect_plane(group, start + 300us, 200us);
    group.on_delivered(0, start + 201us);
    group.on_unanswered(16, start + 5us, start + 400us, 200us);
    EXPECT_EQ(paths_in_use(group, 2), 0u);
    EXPECT_EQ(group.good_planes().bits(), 0b1011u);
}

// The packets of one path were missed first; then nothing of the plane came through.
TEST_F(path_group_planes, plane_that_fell_silent_takes_all_its_paths_though_the_first_has_gone)
{
    path_group group{four_by(2), local};
    group.on_delivered(0, start + 1ms);
    group.on_silence(2, start, start + 1ms);
    ASSERT_EQ(group.state(2), path_state::assumed_bad);
    ASSERT_EQ(group.state(3), path_state::good);
    group.on_plane_silence(2, start, start + 2ms);
    EXPECT_EQ(group.state(3), path_state::assumed_bad);
    EXPECT_EQ(group.state(0), path_state::good);
}

TEST_F(path_group_planes, last_plane_is_not_suspected)
{
    local.up = plane_mask{0b0100};
    path_group group{four_by(8), local};
    suspect_plane(group, start + 300us, 8ms);
    EXPECT_TRUE(group.good_planes().has(plane_index{2}));
    EXPECT_FALSE(group.next_packet(start + 300us));
}

// Not lost yet, so nothing is counted; but the plane is asked, and does without packets until it answers.
TEST_F(path_group_planes, late_packet_of_a_plane_that_delivers_nothing_is_worth_a_question)
{
    path_group group{four_by(8), local};
    group.on_delivered(0, start + 1us);
    group.on_sent(17, false);
    group.on_late(17, start, start + 50us);
    EXPECT_TRUE(group.good_planes().has(plane_index{2})) << "one packet is no silence of a plane";
    for (int n = 0; n < 3; ++n)
        group.on_sent(18, false);
    group.on_delivered(19, start);
    group.on_late(17, start, start + 50us);
    EXPECT_TRUE(group.good_planes().has(plane_index{2})) << "something sent as late got through";
    group.on_late(17, start + 1us, start + 50us);
    EXPECT_FALSE(group.good_planes().has(plane_index{2}));
    EXPECT_EQ(group.state(17), path_state::good);
    EXPECT_EQ(group.counters(17).losses, 0u);
    const auto question = group.next_packet(start + 50us);
    ASSERT_TRUE(question);
    answer(group, *question, start + 100us);
    EXPECT_TRUE(group.good_planes().has(plane_index{2}));
}

} // namespace
} // namespace mrc::protocol
