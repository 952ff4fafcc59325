// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/loss_direction.h"

#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include "protocol/random_source.h"

namespace mrc::ctl::diagnose
{
namespace
{

constexpr std::uint32_t runs = 1000;

class loss_direction : public testing::Test
{
protected:
    // Of so many packets that are each lost with a probability of `millionths` of a millionth.
    [[nodiscard]] tally send(std::uint32_t packets, std::uint32_t millionths)
    {
        tally all{.sent = packets, .back = 0};
        for (std::uint32_t n = 0; n < packets; ++n)
            all.back += random_.below(1'000'000) >= millionths ? 1 : 0;
        return all;
    }
    // What is said, how often, of a link that loses so many on the way out, 5 % of round trips in all; 1 % of what is
    // compared is lost elsewhere.
    [[nodiscard]] std::map<direction, std::uint32_t> said(std::uint32_t packets, std::uint32_t lost_on_the_way_out)
    {
        constexpr std::uint32_t elsewhere = 10'000;
        std::map<direction, std::uint32_t> counts;
        for (std::uint32_t run = 0; run < runs; ++run)
            ++counts[direction_of_loss(send(packets, lost_on_the_way_out + elsewhere), send(packets, elsewhere), 0.05)];
        return counts;
    }

    // Likewise of a link that loses 10 % of round trips, and as many of all answers.
    [[nodiscard]] std::map<direction, std::uint32_t> said_over(std::uint32_t packets, direction truth)
    {
        constexpr std::uint32_t answers = 100'000;
        const std::uint32_t out = truth == direction::in    ? answers
                                  : truth == direction::out ? 190'000
                                                            : 146'185; // 1 - 0.9 times the root of 0.9
        std::map<direction, std::uint32_t> counts;
        for (std::uint32_t run = 0; run < runs; ++run)
            ++counts[direction_of_loss(send(packets, out), send(packets, answers), 0.1)];
        return counts;
    }

    protocol::random_source random_{1};
};

TEST_F(loss_direction, is_found_by_thousands_of_packets)
{
    EXPECT_GE(said(1000, 0)[direction::in], runs * 9 / 10);
    EXPECT_GE(said(1000, 50'000)[direction::out], runs / 2);
    EXPECT_GE(said(3000, 50'000)[direction::out], runs * 95 / 100);
}

TEST_F(loss_direction, is_hardly_ever_the_wrong_one)
{
    for (const std::uint32_t packets : {40, 200, 1000}) {
        auto in = said(packets, 0);
        EXPECT_LE(in[direction::out] + in[direction::both], runs / 100) << packets;
        auto out = said(packets, 50'000);
        EXPECT_LE(out[direction::in] + out[direction::both], runs / 100) << packets;
        auto both = said(packets, 25'321); // 1 - the root of 0.95
        EXPECT_LE(both[direction::in] + both[direction::out], runs / 100) << packets;
    }
}

// Answers that come over the very link lose as much on the way in.
TEST_F(loss_direction, is_told_by_more_packets_where_answers_are_lost_too)
{
    for (const direction truth : {direction::in, direction::out, direction::both}) {
        auto few = said_over(940, truth);
        auto many = said_over(4 * 2000, truth);
        EXPECT_GE(few[direction::unknown], runs / 10) << name_of(truth);
        EXPECT_LE(runs - few[truth] - few[direction::unknown], runs / 100) << name_of(truth);
        EXPECT_GE(many[truth], runs * 99 / 100) << name_of(truth);
    }
}

TEST_F(loss_direction, is_unknown_when_packets_are_few)
{
    EXPECT_GE(said(40, 25'321)[direction::unknown], runs * 9 / 10);
    EXPECT_EQ(direction_of_loss({}, {}, 0.05), direction::unknown);
}

} // namespace
} // namespace mrc::ctl::diagnose
