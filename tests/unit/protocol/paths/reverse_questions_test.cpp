// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/reverse_questions.h"

#include <gtest/gtest.h>

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr plane_mask both{0b11};
constexpr auto interval = reverse_questions::least_interval;

class reverse_questions_test : public testing::Test
{
protected:
    // Asks what is due; how many planes.
    unsigned ask()
    {
        unsigned asked = 0;
        while (const auto due = questions_.next_step(now_, both)) {
            EXPECT_FALSE(due->overdue);
            questions_.on_asked(due->plane, static_cast<std::uint16_t>(due->plane.value), now_);
            ++asked;
        }
        return asked;
    }
    void answer(plane_index plane, instant sent_at, duration after)
    {
        questions_.on_round_trip(after);
        questions_.on_delivered(plane, sent_at);
    }

    instant now_{1s};
    reverse_questions questions_;
};

TEST_F(reverse_questions_test, nobody_is_asked_while_nobody_answers)
{
    EXPECT_EQ(questions_.next_deadline(), never);
    EXPECT_EQ(ask(), 0u);
    questions_.watch(now_ + 5ms);
    EXPECT_EQ(ask(), 2u) << "each plane";
    now_ += 10ms;
    EXPECT_EQ(ask(), 0u);
    EXPECT_EQ(questions_.next_deadline(), never);
}

TEST_F(reverse_questions_test, planes_are_asked_each_interval)
{
    questions_.watch(now_ + 1s);
    for (int round = 0; round < 10; ++round) {
        ASSERT_EQ(ask(), 2u);
        EXPECT_EQ(ask(), 0u);
        const instant asked = now_;
        now_ += 100us;
        for (const plane_index plane : {plane_index{0}, plane_index{1}})
            answer(plane, asked, 100us);
        now_ = asked + interval;
        EXPECT_LE(questions_.next_deadline(), now_);
    }
}

TEST_F(reverse_questions_test, an_interval_is_no_less_than_a_round_trip)
{
    questions_.watch(now_ + 1s);
    ASSERT_EQ(ask(), 2u);
    const instant asked = now_;
    now_ += 10ms;
    for (const plane_index plane : {plane_index{0}, plane_index{1}})
        answer(plane, asked, 10ms);
    ASSERT_EQ(ask(), 2u);
    now_ += 9ms;
    EXPECT_EQ(ask(), 0u);
    now_ += 1ms;
    const auto due = questions_.next_step(now_, both);
    EXPECT_FALSE(due) << "they wait still, with patience of four";
}

TEST_F(reverse_questions_test, a_plane_that_does_not_answer_is_told_of_once_and_asked_again)
{
    questions_.watch(now_ + 1s);
    ASSERT_EQ(ask(), 2u);
    const instant asked = now_;
    now_ += 100us;
    answer(plane_index{0}, asked, 100us);
    now_ = asked + interval;
    const auto due = questions_.next_step(now_, both);
    ASSERT_TRUE(due && due->overdue);
    EXPECT_EQ(due->plane, plane_index{1});
    EXPECT_EQ(due->slot, 1u);
    EXPECT_EQ(due->since, asked);
    EXPECT_EQ(ask(), 1u) << "the one that has answered";
    answer(plane_index{0}, now_, 100us);
    now_ += interval;
    EXPECT_EQ(ask(), 2u) << "and the other a round later";
}

TEST_F(reverse_questions_test, what_data_shows_is_not_asked)
{
    questions_.watch(now_ + 1s);
    for (int step = 0; step < 100; ++step, now_ += 200us) {
        for (const plane_index plane : {plane_index{0}, plane_index{1}})
            questions_.on_delivered(plane, now_ - 100us);
        EXPECT_EQ(ask(), 0u);
    }
}

TEST_F(reverse_questions_test, a_plane_that_answers_do_not_take_is_not_asked)
{
    questions_.watch(now_ + 1s);
    const auto due = questions_.next_step(now_, plane_mask{0b10});
    ASSERT_TRUE(due);
    EXPECT_EQ(due->plane, plane_index{1});
    questions_.on_asked(due->plane, std::nullopt, now_);
    EXPECT_FALSE(questions_.next_step(now_, plane_mask{0b10}));
}

} // namespace
} // namespace mrc::protocol
