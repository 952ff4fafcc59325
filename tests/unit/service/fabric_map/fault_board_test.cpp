// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/fault_board.h"

#include <gtest/gtest.h>

#include "reported.h"

namespace mrc::service
{
namespace
{

using namespace std::chrono_literals;
using protocol::duration;
using protocol::instant;
using test::h00;
using test::h01;
using test::h10;
using test::h11;
using test::reported;

// A board that looks every 20 ms.
struct watched {
    fault_board board;
    instant now{1h};
    std::vector<fault_change> changes;

    void see(const reported &by, duration time, bool alone = false)
    {
        for (const instant end = now + time; now < end; now += 20ms)
            for (const fault_change &change : board.take(merge_reports(by.all()), alone, now))
                changes.push_back(change);
    }
    [[nodiscard]] std::vector<mrc_link_blame> named() const
    {
        std::vector<mrc_link_blame> all;
        for (const auto &[place, fault] : board.named())
            all.push_back(place.blame);
        return all;
    }
};
using blames = std::vector<mrc_link_blame>;

reported leaf_as_first_found()
{
    return reported{}.accuse(h00, std::nullopt, MRC_LINK_LOSSY).unsure(h01, std::nullopt);
}
reported leaf_as_all_find_it()
{
    return leaf_as_first_found().accuse(h01, std::nullopt, MRC_LINK_LOSSY);
}

TEST(fault_board, names_at_once_what_no_other_host_could_doubt)
{
    watched by;
    by.see(reported{}.accuse(h00, 1).leave(h01), 20ms, true);
    EXPECT_EQ(by.named().size(), 1U);
}

TEST(fault_board, waits_for_the_others_before_a_host_s_link_is_blamed_for_its_leaf)
{
    watched by;
    by.see(leaf_as_first_found(), 200ms);
    EXPECT_TRUE(by.named().empty());
    by.see(leaf_as_all_find_it(), fault_board::patience + 40ms);
    EXPECT_EQ(by.named(), blames{MRC_BLAME_LEAF});
    ASSERT_EQ(by.changes.size(), 1U);
    EXPECT_EQ(by.changes[0].fault.place.blame, MRC_BLAME_LEAF);
}

TEST(fault_board, names_what_another_host_is_a_witness_of_sooner_than_what_may_be_two_things)
{
    watched by;
    by.see(reported{}.accuse(h00, std::nullopt), fault_board::patience + 40ms);
    EXPECT_EQ(by.named(), blames{MRC_BLAME_HOST_LINK});
    watched other;
    other.see(leaf_as_first_found(), fault_board::patience + 40ms);
    EXPECT_TRUE(other.named().empty());
    other.see(leaf_as_first_found(), fault_board::unsure_patience);
    EXPECT_EQ(other.named(), blames{MRC_BLAME_HOST_LINK_OR_LEAF});
}

TEST(fault_board, hosts_that_find_a_fault_gone_one_after_the_other_blame_nothing_else)
{
    watched by;
    by.see(leaf_as_all_find_it(), 1s);
    by.see(leaf_as_first_found(), 1s); // one of them has found it gone
    EXPECT_EQ(by.named(), blames{MRC_BLAME_LEAF});
    by.see(reported{}, 40ms);
    EXPECT_TRUE(by.named().empty());
    ASSERT_EQ(by.changes.size(), 2U);
    EXPECT_EQ(by.changes[1].fault.place.blame, MRC_BLAME_LEAF);
    EXPECT_EQ(by.changes[1].fault.state, MRC_LINK_GOOD);
}

TEST(fault_board, what_stays_instead_is_named_in_the_end)
{
    watched by;
    by.see(leaf_as_all_find_it(), 1s);
    by.see(reported{}.accuse(h00, std::nullopt, MRC_LINK_LOSSY), fault_board::doubt + 100ms);
    EXPECT_EQ(by.named(), blames{MRC_BLAME_HOST_LINK});
}

TEST(fault_board, names_more_exactly_what_was_one_of_two_things)
{
    watched by;
    by.see(leaf_as_first_found(), 1s);
    EXPECT_EQ(by.named(), blames{MRC_BLAME_HOST_LINK_OR_LEAF});
    by.see(leaf_as_all_find_it(), fault_board::patience + 60ms);
    EXPECT_EQ(by.named(), blames{MRC_BLAME_LEAF});
    ASSERT_EQ(by.changes.size(), 3U);
    EXPECT_TRUE(by.changes[2].is_renamed) << "it is not good again";
}

TEST(fault_board, names_a_switch_soon_after_a_link_of_it)
{
    watched leaf;
    leaf.see(reported{}.accuse(h00, std::nullopt), 1s);
    EXPECT_EQ(leaf.named(), blames{MRC_BLAME_HOST_LINK});
    leaf.see(leaf_as_all_find_it(), fault_board::patience + 60ms);
    EXPECT_EQ(leaf.named(), blames{MRC_BLAME_LEAF});
    EXPECT_TRUE(leaf.changes.back().is_renamed);

    watched spine;
    const reported by_one_leaf = reported{}.accuse(h00, 1).accuse(h01, 1);
    spine.see(by_one_leaf, 1s);
    EXPECT_EQ(spine.named(), blames{MRC_BLAME_LEAF_SPINE_LINK});
    spine.see(reported{by_one_leaf}.accuse(h10, 1).accuse(h11, 1), fault_board::patience + 60ms);
    EXPECT_EQ(spine.named(), blames{MRC_BLAME_SPINE});
    spine.see(by_one_leaf, 1s); // the others have found it gone
    EXPECT_EQ(spine.named(), blames{MRC_BLAME_SPINE});
}

TEST(fault_board, tells_a_fault_that_becomes_worse)
{
    watched by;
    by.see(reported{}.accuse(h00, 1, MRC_LINK_LOSSY), 1s);
    by.see(reported{}.accuse(h00, 1, MRC_LINK_DEAD), 40ms);
    ASSERT_EQ(by.changes.size(), 2U);
    EXPECT_EQ(by.changes[1].fault.state, MRC_LINK_DEAD);
}

TEST(fault_board, is_alert_while_something_waits_and_for_a_while_after_each_change)
{
    watched by;
    EXPECT_FALSE(by.board.is_alert(by.now));
    by.see(leaf_as_first_found(), 20ms);
    EXPECT_TRUE(by.board.is_alert(by.now));
    by.see(leaf_as_first_found(), 5s);
    EXPECT_FALSE(by.board.is_alert(by.now)) << "an old fault is no news";
    by.see(reported{}, 20ms);
    EXPECT_TRUE(by.board.is_alert(by.now));
}

} // namespace
} // namespace mrc::service
