// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/reverse_evs.h"

#include <gtest/gtest.h>

#include <vector>

#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

class reverse_evs_test : public testing::Test
{
protected:
    struct question {
        plane_index plane;
        std::uint16_t id = 0;
    };

    void answers(unsigned count)
    {
        while (count-- != 0)
            evs_.on_answer_sent(now_);
    }
    // What is due: of each plane the slot that its turn names.
    std::vector<question> ask(plane_mask among = all)
    {
        std::vector<question> asked;
        while (const auto plane = evs_.next_plane(now_, among)) {
            const auto slot = static_cast<std::uint16_t>(10 * plane->value + evs_.turn(*plane) % 10);
            asked.push_back({*plane, evs_.ask(*plane, slot, now_)});
        }
        return asked;
    }
    void reply(const std::vector<question> &asked, plane_mask of = all, duration after = 50us)
    {
        for (const question &each : asked) {
            if (of.has(each.plane)) {
                EXPECT_TRUE(evs_.on_answer(each.id, now_ + after));
            }
        }
    }

    static constexpr unsigned planes = 4;
    static constexpr plane_mask all{0xF};
    static constexpr plane_index first{0};
    static constexpr plane_index second{1};
    const reverse_config config_;
    reverse_evs evs_{config_, planes, reverse_ids};
    instant now_ = start;
};

TEST_F(reverse_evs_test, nothing_is_asked_while_nobody_answers)
{
    EXPECT_EQ(evs_.next_deadline(), never);
    EXPECT_TRUE(ask().empty());
    answers(1);
    EXPECT_EQ(evs_.next_deadline(), now_);
    const auto asked = ask();
    EXPECT_EQ(asked.size(), planes) << "each plane, with the first answer";
    reply(asked);
    now_ += 10s;
    EXPECT_TRUE(ask().empty());
    EXPECT_EQ(evs_.next_deadline(), never);
}

TEST_F(reverse_evs_test, the_ev_that_answered_last_is_the_planes)
{
    answers(1);
    EXPECT_FALSE(evs_.slot_of(second)) << "before its first answer";
    for (std::uint16_t round = 0; round < 25; ++round) {
        reply(ask());
        EXPECT_EQ(evs_.slot_of(second), 10 + round % 10) << "another one each time";
        answers(1000);
        now_ += config_.least_round;
    }
    EXPECT_TRUE(evs_.silent().empty());
}

TEST_F(reverse_evs_test, a_plane_that_does_not_answer_twice_is_silent_until_it_does)
{
    answers(1);
    reply(ask(), plane_mask{0b1101});
    now_ = evs_.next_deadline();
    EXPECT_EQ(now_, start + config_.least_round);
    answers(1000);
    reply(ask(), plane_mask{0b1101});
    EXPECT_TRUE(evs_.silent().empty()) << "one path may be dead alone";
    now_ += config_.least_round;
    answers(1000);
    const auto again = ask();
    EXPECT_EQ(evs_.silent().bits(), 0b0010u);
    EXPECT_EQ(again.size(), planes) << "and is asked as before";
    reply(again);
    EXPECT_TRUE(evs_.silent().empty());
    EXPECT_EQ(evs_.slot_of(second), 12) << "each time another path";
}

TEST_F(reverse_evs_test, a_path_that_is_dead_alone_silences_no_plane)
{
    for (int round = 0; round < 50; ++round) {
        answers(1000);
        const bool dead = evs_.turn(second) % 10 == 3;
        reply(ask(), dead ? plane_mask{0b1101} : all);
        EXPECT_TRUE(evs_.silent().empty());
        EXPECT_NE(evs_.slot_of(second), 13);
        now_ += config_.least_round;
    }
}

TEST_F(reverse_evs_test, a_late_answer_is_an_answer_and_an_old_one_is_none)
{
    answers(1);
    (void)ask();
    now_ += config_.least_round;
    answers(1000);
    const auto asked = ask();
    now_ += config_.least_round;
    EXPECT_TRUE(ask().empty());
    EXPECT_EQ(evs_.silent(), all);
    reply(asked);
    EXPECT_TRUE(evs_.silent().empty());
    EXPECT_FALSE(evs_.on_answer(asked[0].id, now_)) << "once";
    EXPECT_FALSE(evs_.on_answer(heartbeat_ids.first, now_));
}

TEST_F(reverse_evs_test, nobody_is_silent_while_this_host_does_not_look)
{
    answers(1);
    (void)ask();
    now_ += 2 * config_.least_round;
    answers(1000);
    EXPECT_EQ(ask().size(), planes);
    EXPECT_TRUE(evs_.silent().empty()) << "the answers may be here, unread";
}

TEST_F(reverse_evs_test, what_data_has_shown_is_not_asked)
{
    answers(1);
    unsigned asked = 0;
    while (const auto plane = evs_.next_plane(now_, all)) {
        if (*plane == first)
            evs_.prove(first, 7);
        else
            asked += evs_.ask(*plane, 1, now_) != 0 ? 1 : 0;
    }
    EXPECT_EQ(asked, planes - 1);
    EXPECT_EQ(evs_.slot_of(first), 7);
}

TEST_F(reverse_evs_test, planes_that_answers_may_not_take_are_not_asked)
{
    answers(1);
    EXPECT_EQ(ask(plane_mask{0b0101}).size(), 2u);
}

TEST_F(reverse_evs_test, a_round_is_four_round_trips_of_a_long_way)
{
    answers(1);
    reply(ask(), all, 5ms);
    EXPECT_EQ(evs_.round(), 20ms);
    answers(1000);
    now_ += 19ms;
    EXPECT_TRUE(ask().empty());
    now_ += 1ms;
    EXPECT_EQ(ask().size(), planes);
}

// Whatever is sent: no more than 500 a second and plane, no more than one for 64 answers, but one a second.
TEST_F(reverse_evs_test, questions_are_bounded)
{
    struct row {
        duration every; // an answer
        unsigned most;  // questions in ten seconds
        unsigned least;
    };
    const auto per_second = static_cast<unsigned>(1s / config_.least_round) * planes;
    for (const row &rate :
         {row{2us, 10 * per_second, 9 * per_second},
          row{1ms, 10'000 / config_.answers_per_question + planes, 9'000 / config_.answers_per_question},
          row{100ms, 11 * planes, 9 * planes}}) {
        evs_ = reverse_evs{config_, planes, reverse_ids};
        unsigned asked = 0;
        for (const instant end = now_ + 10s; now_ < end; now_ += rate.every) {
            answers(1);
            const auto questions = ask();
            asked += static_cast<unsigned>(questions.size());
            reply(questions, all, 1us);
        }
        EXPECT_LE(asked, rate.most) << rate.every.count();
        EXPECT_GE(asked, rate.least) << rate.every.count();
    }
}

} // namespace
} // namespace mrc::protocol
