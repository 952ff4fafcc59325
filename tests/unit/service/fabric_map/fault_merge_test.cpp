// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/fault_merge.h"

#include <gtest/gtest.h>

#include "reported.h"

namespace mrc::service
{
namespace
{

using test::h00;
using test::h01;
using test::h10;
using test::h11;
using test::plane_0;
using test::reported;

std::vector<fault_place> places(const reported &by)
{
    std::vector<fault_place> all;
    for (const fabric_fault &fault : merge_reports(by.all()))
        all.push_back(fault.place);
    return all;
}

fault_place host_link(mrc_link_blame blame, host_place host)
{
    return {.blame = blame, .plane = plane_0, .leaf = host.leaf, .downlink = host.downlink};
}
fault_place leaf(std::uint32_t number)
{
    return {.blame = MRC_BLAME_LEAF, .plane = plane_0, .leaf = number};
}
fault_place spine_link(mrc_link_blame blame, std::uint32_t leaf, std::uint32_t spine)
{
    return {.blame = blame, .plane = plane_0, .leaf = leaf, .spine = spine};
}
fault_place spine(std::uint32_t number)
{
    return {.blame = MRC_BLAME_SPINE, .plane = plane_0, .spine = number};
}
using faults = std::vector<fault_place>;

TEST(fault_merge, of_hosts_that_find_all_good_is_nothing)
{
    EXPECT_TRUE(places(reported{}).empty());
    EXPECT_TRUE(merge_reports({}).empty());
}

TEST(fault_merge, one_host_s_way_to_the_leaf_is_its_link_if_its_neighbour_s_is_good)
{
    reported by;
    by.accuse(h00, std::nullopt, MRC_LINK_LOSSY, MRC_DIRECTION_DOWN);
    const auto found = merge_reports(by.all());
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].place, host_link(MRC_BLAME_HOST_LINK, h00));
    EXPECT_EQ(found[0].state, MRC_LINK_LOSSY);
    EXPECT_EQ(found[0].direction, MRC_DIRECTION_DOWN);
    EXPECT_EQ(found[0].hosts, 1U);
    EXPECT_EQ(found[0].witnesses, 1U);
    EXPECT_EQ(found[0].lost, 10U);
}

TEST(fault_merge, the_way_to_the_leaf_of_all_its_hosts_is_the_leaf)
{
    reported by;
    by.accuse(h00, std::nullopt).accuse(h01, std::nullopt, MRC_LINK_LOSSY);
    by.see_nothing_behind(h00).see_nothing_behind(h01);
    const auto found = merge_reports(by.all());
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].place, leaf(0));
    EXPECT_EQ(found[0].state, MRC_LINK_DEAD) << "the worst";
    EXPECT_EQ(found[0].hosts, 2U);
    EXPECT_EQ(found[0].lost, 20U);
}

TEST(fault_merge, cannot_tell_a_host_s_link_from_the_leaf_while_the_neighbour_is_unsure_or_does_not_report)
{
    EXPECT_EQ(places(reported{}.accuse(h00, std::nullopt).unsure(h01, std::nullopt)),
              faults{host_link(MRC_BLAME_HOST_LINK_OR_LEAF, h00)});
    EXPECT_EQ(places(reported{}.accuse(h00, std::nullopt).leave(h01)),
              faults{host_link(MRC_BLAME_HOST_LINK_OR_LEAF, h00)});
}

TEST(fault_merge, a_spine_that_one_leaf_finds_at_fault_and_another_good_is_the_link)
{
    EXPECT_EQ(places(reported{}.accuse(h00, 1).accuse(h01, 1)), faults{spine_link(MRC_BLAME_LEAF_SPINE_LINK, 0, 1)});
    EXPECT_EQ(places(reported{}.accuse(h10, 0)), faults{spine_link(MRC_BLAME_LEAF_SPINE_LINK, 1, 0)});
}

TEST(fault_merge, believes_no_witness_who_was_heard_before_the_fault_began)
{
    using namespace std::chrono_literals;
    reported by;
    by.accuse(h00, 1);
    std::vector<host_report> reports = by.all();
    link_report accuser = *reports[0].report;
    keep_since(accuser, {}, protocol::instant{10s});
    reports[0].report = &accuser;
    for (host_report &each : reports)
        each.heard = protocol::instant{10s - 1ns};
    EXPECT_EQ(merge_reports(reports)[0].place, spine_link(MRC_BLAME_SPINE_LINK_OR_SPINE, 0, 1));
    reports[2].heard = protocol::instant{10s};
    EXPECT_EQ(merge_reports(reports)[0].place, spine_link(MRC_BLAME_LEAF_SPINE_LINK, 0, 1));
    keep_since(accuser, link_report{accuser}, protocol::instant{20s});
    EXPECT_EQ(accuser.faults[0].since, protocol::instant{10s}) << "said already";
}

TEST(fault_merge, a_spine_that_all_leaves_find_at_fault_is_the_spine)
{
    EXPECT_EQ(places(reported{}.accuse(h00, 1).accuse(h11, 1).unsure(h10, 1)), faults{spine(1)});
}

TEST(fault_merge, a_spine_that_two_of_three_leaves_find_at_fault_is_two_links)
{
    const std::vector<fault_place> found = places(reported{3}.accuse(h00, 1).accuse(h10, 1));
    EXPECT_EQ(found,
              (faults{spine_link(MRC_BLAME_LEAF_SPINE_LINK, 0, 1), spine_link(MRC_BLAME_LEAF_SPINE_LINK, 1, 1)}));
}

TEST(fault_merge, cannot_tell_a_link_from_its_spine_while_no_other_leaf_s_hosts_are_sure)
{
    EXPECT_EQ(places(reported{}.accuse(h00, 1).leave(h10).leave(h11)),
              faults{spine_link(MRC_BLAME_SPINE_LINK_OR_SPINE, 0, 1)});
}

TEST(fault_merge, all_spines_of_a_leaf_s_host_are_the_leaf)
{
    EXPECT_EQ(places(reported{}.accuse(h00, 0).accuse(h00, 1)), faults{leaf(0)});
    EXPECT_EQ(places(reported{}
                         .accuse(h00, std::nullopt, MRC_LINK_LOSSY)
                         .accuse(h01, std::nullopt, MRC_LINK_LOSSY)
                         .accuse(h00, 0, MRC_LINK_LOSSY)
                         .accuse(h01, 0, MRC_LINK_LOSSY)
                         .accuse(h01, 1, MRC_LINK_LOSSY)),
              faults{leaf(0)})
        << "what its hosts find of spines is the leaf's";
}

TEST(fault_merge, the_only_spine_of_a_plane_is_no_leaf)
{
    EXPECT_EQ(places(reported{2, 2, 1}.accuse(h00, 0)), faults{spine_link(MRC_BLAME_LEAF_SPINE_LINK, 0, 0)});
}

TEST(fault_merge, two_hosts_that_know_different_directions_mean_both)
{
    reported by;
    by.accuse(h00, 1, MRC_LINK_LOSSY, MRC_DIRECTION_UP).accuse(h01, 1, MRC_LINK_LOSSY, MRC_DIRECTION_DOWN);
    EXPECT_EQ(merge_reports(by.all())[0].direction, MRC_DIRECTION_BOTH);
}

TEST(fault_merge, what_meets_in_a_switch_is_beside_it)
{
    EXPECT_TRUE(is_beside(leaf(0), host_link(MRC_BLAME_HOST_LINK, h00)));
    EXPECT_TRUE(is_beside(leaf(0), spine_link(MRC_BLAME_LEAF_SPINE_LINK, 0, 1)));
    EXPECT_TRUE(is_beside(spine(1), spine_link(MRC_BLAME_LEAF_SPINE_LINK, 0, 1)));
    EXPECT_FALSE(is_beside(spine(0), spine_link(MRC_BLAME_LEAF_SPINE_LINK, 0, 1)));
    EXPECT_FALSE(is_beside(leaf(1), host_link(MRC_BLAME_HOST_LINK, h00)));
    fault_place elsewhere = leaf(0);
    elsewhere.plane = protocol::plane_index{1};
    EXPECT_FALSE(is_beside(leaf(0), elsewhere));
}

TEST(fault_merge, links_are_parts_of_the_switches_at_their_ends)
{
    const fault_place of_host = host_link(MRC_BLAME_HOST_LINK, h00);
    const fault_place of_leaf = spine_link(MRC_BLAME_LEAF_SPINE_LINK, 0, 1);
    EXPECT_TRUE(is_part_of(of_host, leaf(0)));
    EXPECT_TRUE(is_part_of(of_leaf, leaf(0)));
    EXPECT_TRUE(is_part_of(of_leaf, spine(1)));
    EXPECT_FALSE(is_part_of(of_host, leaf(1)));
    EXPECT_FALSE(is_part_of(of_leaf, spine(0)));
    EXPECT_FALSE(is_part_of(of_host, spine(1)));
    EXPECT_FALSE(is_part_of(leaf(0), of_leaf));
    EXPECT_FALSE(is_part_of(leaf(0), spine(1)));
    fault_place elsewhere = of_leaf;
    elsewhere.plane = protocol::plane_index{1};
    EXPECT_FALSE(is_part_of(elsewhere, leaf(0)));
}

} // namespace
} // namespace mrc::service
