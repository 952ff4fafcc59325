// SPDX-License-Identifier: Apache-2.0
//
// By which paths answers leave, and what asking for these ways costs.
#include <set>

#include "unit/protocol/paths/path_group_fixture.h"
#include "unit/protocol/pooled_hosts.h"

namespace mrc::protocol
{
namespace
{

bool asks_for_answers(const outgoing &packet)
{
    return reverse_ids.contains(std::get<endpoint_request_packet>(packet.content).request_id);
}

class answer_paths_test : public path_group_test
{
protected:
    // Queue pairs answer for a while; of the questions meanwhile those on planes of `alive` are answered.
    void run(duration time, plane_mask alive)
    {
        for (const instant end = now_ + time; now_ < end; now_ += 100us) {
            for (int n = 0; n < 64; ++n)
                group_.on_answer_sent(now_);
            while (const auto question = group_.next_packet(now_)) {
                asked_ += asks_for_answers(*question) ? 1 : 0;
                if (!asks_for_answers(*question) || alive.has(plane_of(question->path)))
                    answer(group_, *question, now_ + 50us);
            }
        }
    }
    [[nodiscard]] plane_index plane_of(path_index path) const { return group_.path(*group_.slot_at(path)).plane; }
    [[nodiscard]] path_index way_of(unsigned cause, plane_mask reachable = every_plane)
    {
        const auto way = group_.answer_path(group_.path(cause).index, reachable & group_.usable());
        return way ? way->index : path_index{};
    }

    path_group group_{four_by(8), local};
    instant now_ = start;
    unsigned asked_ = 0;
};

TEST_F(answer_paths_test, answers_go_back_as_their_cause_came)
{
    for (int round = 0; round < 2; ++round, run(20ms, every_plane))
        for (unsigned slot = 0; slot < group_.size(); ++slot)
            EXPECT_EQ(way_of(slot), group_.path(slot).index);
}

TEST_F(answer_paths_test, instead_of_a_path_that_is_out_of_use_answers_take_their_planes_reverse_ev)
{
    group_.deny(8);
    EXPECT_NE(plane_of(way_of(8)), plane_index{1}) << "none is known yet";
    std::set<path_index> ways;
    for (int round = 0; round < 20; ++round) {
        run(2ms, every_plane);
        const path_index way = way_of(8);
        EXPECT_EQ(plane_of(way), plane_index{1});
        EXPECT_EQ(way_of(8), way);
        ways.insert(way);
    }
    EXPECT_EQ(ways.size(), 7u) << "another one each round";
}

TEST_F(answer_paths_test, a_plane_that_is_dead_that_way_has_no_answers_after_three_rounds)
{
    run(20ms, every_plane);
    run(6ms, plane_mask{0b1011});
    std::set<std::uint8_t> planes;
    for (int n = 0; n < 6; ++n)
        planes.insert(plane_of(way_of(17)).value);
    EXPECT_EQ(planes, (std::set<std::uint8_t>{0, 1, 3})) << "in turn";
    run(4ms, every_plane);
    EXPECT_EQ(plane_of(way_of(17)), plane_index{2}) << "it is back";
}

// What is missed here may have been answered, or never asked: it must not cost data anything.
TEST_F(answer_paths_test, whatever_is_not_answered_no_path_is_blamed_and_no_plane_suspected)
{
    run(20ms, every_plane);
    for (const std::uint32_t alive : {0b1011u, 0b0001u, 0u, 0b1111u}) {
        run(500ms, plane_mask{alive});
        EXPECT_EQ(group_.good_planes().bits(), 0xFu);
        EXPECT_FALSE(group_.next_transition());
        EXPECT_EQ(group_.silence_generation(), 0u);
    }
    for (unsigned slot = 0; slot < group_.size(); ++slot) {
        EXPECT_EQ(group_.state(slot), path_state::good);
        EXPECT_EQ(group_.evidence().recent_losses(slot, 32), 0u);
    }
    EXPECT_GE(asked_, 2000u);
}

TEST_F(answer_paths_test, answers_go_back_as_their_cause_came_where_nobody_answers)
{
    run(20ms, every_plane);
    run(20ms, plane_mask{0});
    for (unsigned slot = 0; slot < group_.size(); ++slot)
        EXPECT_EQ(way_of(slot), group_.path(slot).index);
}

TEST_F(answer_paths_test, a_plane_on_which_the_peer_is_not_reached_is_left)
{
    run(20ms, every_plane);
    for (int n = 0; n < 8; ++n)
        EXPECT_NE(plane_of(way_of(9, plane_mask{0b1101})), plane_index{1});
    EXPECT_EQ(way_of(9, plane_mask{0}), path_index{});
}

TEST_F(answer_paths_test, a_reverse_ev_that_is_out_of_use_carries_no_answers)
{
    run(20ms, every_plane);
    group_.deny(8);
    const path_index way = way_of(8);
    group_.deny(*group_.slot_at(way));
    EXPECT_NE(way_of(8), way);
}

TEST_F(answer_paths_test, paths_that_missed_a_heartbeat_carry_no_answers)
{
    path_group group{four_by(1), local};
    group.watch(start + 1s);
    const auto way_of = [](path_group &of) { return of.answer_path(of.path(2).index, of.usable())->index; };
    std::vector<outgoing> asked;
    while (auto probe = group.next_packet(start))
        asked.push_back(*probe);
    ASSERT_EQ(asked.size(), 4u);
    for (const outgoing &probe : asked)
        if (probe.path != group.path(2).index)
            answer(group, probe, start + 50us);
    EXPECT_EQ(way_of(group), group.path(2).index);
    const auto again = group.next_packet(start + 10ms);
    ASSERT_TRUE(again);
    EXPECT_NE(way_of(group), group.path(2).index);
    EXPECT_TRUE(group.in_use(2)) << "data may go there: its deliveries tell";
    answer(group, *again, start + 10ms + 50us);
    EXPECT_EQ(way_of(group), group.path(2).index);
}

TEST_F(answer_paths_test, answers_to_an_unknown_way_take_reverse_evs_in_turn)
{
    run(20ms, every_plane);
    std::set<path_index> ways;
    for (int n = 0; n < 8; ++n)
        ways.insert(group_.answer_path({}, group_.usable())->index);
    EXPECT_EQ(ways.size(), 4u);
}

TEST_F(answer_paths_test, the_worst_path_is_better_than_none)
{
    local.up = plane_mask{0b0010};
    for (unsigned slot = 8; slot < 16; ++slot)
        group_.on_silence(slot, start, start);
    for (unsigned slot = 8; slot < 15; ++slot)
        group_.deny(slot);
    EXPECT_EQ(way_of(3), group_.path(15).index);
    group_.deny(15);
    EXPECT_EQ(way_of(3), path_index{});
}

TEST_F(answer_paths_test, planes_that_carry_data_are_not_asked)
{
    for (; now_ < start + 100ms; now_ += 100us) {
        for (unsigned slot = 0; slot < 16; ++slot)
            group_.on_delivered(slot, now_ - 50us);
        for (int n = 0; n < 64; ++n)
            group_.on_answer_sent(now_);
        while (const auto question = group_.next_packet(now_)) {
            EXPECT_FALSE(asks_for_answers(*question) && plane_of(question->path).value < 2);
            asked_ += asks_for_answers(*question) ? 1 : 0;
            answer(group_, *question, now_ + 50us);
        }
    }
    EXPECT_EQ(asked_, 2 * 50u) << "the other two, each 2 ms";
}

// 10,000 queue pairs that only receive: what they share is asked as if they were one.
TEST(reverse_questions, of_ten_thousand_receiving_queue_pairs_are_2000_a_second)
{
    constexpr std::size_t count = 10'000;
    pooled_hosts hosts;
    for (std::size_t n = 0; n < count; ++n)
        hosts.connect();
    hosts.replenish();
    unsigned about_answers = 0;
    unsigned others = 0;
    const instant end = hosts.now + 1s;
    for (std::size_t n = 0; hosts.now < end; n = (n + 1) % count) {
        ASSERT_TRUE(hosts.post(n, 64));
        ASSERT_TRUE(hosts.exchange(n));
        ASSERT_TRUE(hosts.left.qps[n]->next_completion());
        hosts.left.qps[n]->rest();
        hosts.right.qps[n]->rest();
        hosts.replenish();
        while (const auto question = hosts.right.paths.next_packet(hosts.now)) {
            (asks_for_answers(*question) ? about_answers : others) += 1;
            answer(hosts.right.paths, *question, hosts.now + 5us);
        }
    }
    std::printf("%u questions about the ways of answers in a second, %u heartbeats\n", about_answers, others);
    EXPECT_LE(about_answers, 4 * 500u);
    EXPECT_GE(about_answers, 4 * 450u);
    EXPECT_LE(others, 640u);
}

} // namespace
} // namespace mrc::protocol
