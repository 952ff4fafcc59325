// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/loop_record.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;

constexpr instant first_sent{1h};

struct recorded {
    loop_record record;
    std::set<std::uint32_t> back;
    reception meanwhile{.heard = instant::min(), .punctual_since = instant::min()};

    std::vector<loop_fate> judge(instant now)
    {
        std::vector<loop_fate> fates;
        record.judge(
            now, meanwhile,
            [this](std::uint32_t number) { return back.contains(number) ? std::optional{20'000U} : std::nullopt; },
            [&](const loop_outcome &loop) { fates.push_back(loop.fate); });
        return fates;
    }
};

using fates = std::vector<loop_fate>;

TEST(loop_record, tells_arrivals_in_order)
{
    recorded of;
    of.record.on_sent(first_sent);
    of.record.on_sent(first_sent + 1ms);
    of.back = {1, 2};
    EXPECT_EQ(of.judge(first_sent + 1ms), (fates{loop_fate::arrived, loop_fate::arrived}));
    EXPECT_EQ(of.judge(first_sent + 2ms), fates{});
}

TEST(loop_record, one_that_later_ones_have_overtaken_is_lost_after_a_while)
{
    recorded of;
    of.record.on_sent(first_sent);
    of.record.on_sent(first_sent + 1ms);
    of.back = {2};
    EXPECT_EQ(of.judge(first_sent + 9ms), fates{});
    EXPECT_EQ(of.judge(first_sent + 10ms), (fates{loop_fate::lost, loop_fate::arrived}));
}

TEST(loop_record, the_last_one_is_lost_only_when_others_were_heard_well_after_it)
{
    recorded of;
    of.record.on_sent(first_sent);
    of.meanwhile.heard = first_sent + loop_record::heard_after - 1ns;
    of.meanwhile.punctual_since = first_sent + 1ms;
    EXPECT_EQ(of.judge(first_sent + loop_record::silence), fates{});
    of.meanwhile.heard = first_sent + loop_record::heard_after;
    EXPECT_EQ(of.judge(first_sent + loop_record::silence), fates{loop_fate::lost});
}

TEST(loop_record, one_of_a_time_when_nothing_was_received_is_lost_only_for_a_punctual_sender)
{
    recorded punctual;
    punctual.record.on_sent(first_sent);
    punctual.meanwhile.punctual_since = first_sent;
    EXPECT_EQ(punctual.judge(first_sent + loop_record::forlorn - 1ns), fates{});
    EXPECT_EQ(punctual.judge(first_sent + loop_record::forlorn), fates{loop_fate::lost});
    recorded late;
    late.record.on_sent(first_sent);
    late.meanwhile.punctual_since = first_sent + 1ns;
    EXPECT_EQ(late.judge(first_sent + loop_record::forlorn), fates{loop_fate::unjudged});
}

TEST(loop_record, one_that_comes_back_after_all_is_late)
{
    recorded of;
    of.record.on_sent(first_sent);
    of.record.on_sent(first_sent);
    of.back = {2};
    EXPECT_EQ(of.judge(first_sent + 10ms), (fates{loop_fate::lost, loop_fate::arrived}));
    of.back.insert(1);
    EXPECT_EQ(of.judge(first_sent + 20ms), fates{loop_fate::late});
    EXPECT_EQ(of.judge(first_sent + 21ms), fates{});
}

TEST(loop_record, holds_no_more_than_the_slots_of_the_map)
{
    recorded of;
    for (std::uint32_t i = 0; i < loop_record::slots; ++i) {
        EXPECT_FALSE(of.record.is_full());
        of.record.on_sent(first_sent);
        of.back.insert(i + 1);
    }
    EXPECT_TRUE(of.record.is_full());
    of.judge(first_sent + 1ms);
    EXPECT_FALSE(of.record.is_full());
}

TEST(loop_record, forgets_what_is_under_way)
{
    recorded of;
    of.record.on_sent(first_sent);
    of.record.forget();
    of.back = {1};
    EXPECT_EQ(of.judge(first_sent + 1s), fates{});
}

} // namespace
} // namespace mrc::service
