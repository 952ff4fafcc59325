// SPDX-License-Identifier: Apache-2.0
#include "service/sockets/answering_host.h"

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;

constexpr instant start{1h};

TEST(answering_host, is_silent_until_it_has_answered)
{
    answering_host host;
    EXPECT_FALSE(host.answers());
    EXPECT_FALSE(host.on_question(start)) << "no news";
    EXPECT_TRUE(host.on_answer(start));
    EXPECT_TRUE(host.answers());
    EXPECT_FALSE(host.on_answer(start + answering_host::interval)) << "no news";
}

TEST(answering_host, may_miss_questions_for_a_while)
{
    answering_host host;
    (void)host.on_answer(start);
    EXPECT_FALSE(host.on_question(start + answering_host::patience - 1ns));
    EXPECT_TRUE(host.answers());
    EXPECT_TRUE(host.on_question(start + answering_host::patience));
    EXPECT_FALSE(host.answers());
    EXPECT_FALSE(host.on_question(start + 2 * answering_host::patience)) << "told once";
    EXPECT_TRUE(host.on_answer(start + 3 * answering_host::patience));
}

TEST(answering_host, is_given_its_patience_anew_by_every_answer)
{
    answering_host host;
    for (instant now = start; now < start + 10 * answering_host::patience; now += answering_host::patience / 2) {
        EXPECT_FALSE(host.on_question(now));
        (void)host.on_answer(now);
    }
    EXPECT_TRUE(host.answers());
}

} // namespace
} // namespace mrc::service
