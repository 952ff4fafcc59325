// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/spine_policy.h"

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;
using left_paths = std::set<left_path>;

constexpr instant begin{1h};
constexpr std::uint32_t own = 3;

fault_change change(mrc_link_blame blame, std::uint32_t leaf, std::uint32_t spine, mrc_link_state state, instant at)
{
    return {.fault = {.place = {.blame = blame, .plane = protocol::plane_index{1}, .leaf = leaf, .spine = spine},
                      .state = state},
            .at = at};
}
fault_change of_spine(mrc_link_state state, instant at)
{
    return change(MRC_BLAME_SPINE, MRC_FAULT_NOWHERE, 5, state, at);
}
const left_paths spine_5{{.plane = 1, .uplink = 5}};

TEST(spine_policy, leaves_a_spine_toward_all_leaves_when_it_or_the_own_leaf_s_link_is_at_fault)
{
    for (const std::uint32_t leaf : {MRC_FAULT_NOWHERE, own}) {
        spine_policy policy{own};
        policy.on_fault(change(MRC_BLAME_LEAF_SPINE_LINK, leaf, 5, MRC_LINK_LOSSY, begin));
        EXPECT_EQ(policy.left(begin), spine_5);
    }
}

TEST(spine_policy, leaves_another_leaf_s_link_toward_that_leaf)
{
    spine_policy policy{own};
    policy.on_fault(change(MRC_BLAME_LEAF_SPINE_LINK, 7, 5, MRC_LINK_DEAD, begin));
    EXPECT_EQ(policy.left(begin), (left_paths{{.plane = 1, .uplink = 5, .leaf = 7}}));
}

TEST(spine_policy, leaves_nothing_for_what_is_slow_or_for_hosts_links_and_leaves)
{
    spine_policy policy{own};
    policy.on_fault(of_spine(MRC_LINK_SLOW, begin));
    policy.on_fault(change(MRC_BLAME_HOST_LINK, own, MRC_FAULT_NOWHERE, MRC_LINK_LOSSY, begin));
    policy.on_fault(change(MRC_BLAME_LEAF, 7, MRC_FAULT_NOWHERE, MRC_LINK_LOSSY, begin));
    EXPECT_TRUE(policy.left(begin).empty());
    EXPECT_FALSE(policy.is_waiting());
}

TEST(spine_policy, takes_a_spine_back_after_its_probation_which_doubles)
{
    spine_policy policy{own};
    instant now = begin;
    for (protocol::duration probation = spine_policy::probation; probation < spine_policy::longest; probation *= 2) {
        policy.on_fault(of_spine(MRC_LINK_LOSSY, now));
        EXPECT_FALSE(policy.is_waiting()) << "as long as it is at fault";
        EXPECT_EQ(policy.left(now + 1h), spine_5);
        now += 1h;
        policy.on_fault(of_spine(MRC_LINK_GOOD, now));
        EXPECT_TRUE(policy.is_waiting());
        EXPECT_EQ(policy.left(now + probation - 1ns), spine_5);
        now += probation;
        EXPECT_TRUE(policy.left(now).empty());
        EXPECT_FALSE(policy.is_waiting());
    }
}

TEST(spine_policy, a_relapse_in_its_probation_begins_it_anew)
{
    spine_policy policy{own};
    policy.on_fault(of_spine(MRC_LINK_LOSSY, begin));
    policy.on_fault(of_spine(MRC_LINK_GOOD, begin + 1s));
    policy.on_fault(of_spine(MRC_LINK_DEAD, begin + 2s));
    EXPECT_EQ(policy.left(begin + 1h), spine_5);
    policy.on_fault(of_spine(MRC_LINK_GOOD, begin + 1h));
    EXPECT_EQ(policy.left(begin + 1h + spine_policy::probation - 1ns), spine_5);
    EXPECT_TRUE(policy.left(begin + 1h + spine_policy::probation).empty());
}

} // namespace
} // namespace mrc::service
