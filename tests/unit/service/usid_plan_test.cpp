// SPDX-License-Identifier: Apache-2.0
// A site's plan of uSIDs: patterns and what they give, uSIDs given switch by switch, which is refused, and paths by it.
#include "service/usid_plan.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "service/srv6_fabric.h"

namespace mrc::service
{
namespace
{

using protocol::plane_index;

usid_pattern pattern(std::string_view text)
{
    const auto parsed = parse_usid_pattern(text);
    EXPECT_TRUE(parsed) << text;
    return parsed.value_or(usid_pattern{});
}

// A block of 48 bits, leaves by bits, spines in front, hosts without a plane.
usid_options site()
{
    usid_options options;
    options.block = parse_prefix("fd00:12:5::/48").value();
    options.leaf = {pattern("01PPIIIIIIIIIIII"), pattern("cPII")};
    options.spine = {pattern("0P1I")};
    options.host = pattern("e0II");
    return options;
}

TEST(usid_pattern, puts_the_lowest_bits_of_both_numbers_last)
{
    EXPECT_EQ(pattern("1PII").usid(plane_index{3}, 255), 0x13ff);
    EXPECT_EQ(pattern("01PPIIIIIIIIIIII").usid(plane_index{2}, 0xabc), 0x6abc);
    EXPECT_EQ(pattern("PI00000000000000").usid(plane_index{1}, 1), 0xc000);
    EXPECT_EQ(pattern("I00P").usid(plane_index{5}, 7), 0x7005);
    EXPECT_EQ(pattern("e0II").usid(plane_index{5}, 7), 0xe007) << "the same on all planes";
}

TEST(usid_pattern, is_written_as_it_was_read)
{
    for (const char *text : {"1PII", "01PPIIIIIIIIIIII", "PI00000000000000", "e0II", "abcd", "IIII"})
        EXPECT_EQ(to_text(pattern(text)), text);
    EXPECT_EQ(to_text(pattern("ABCD")), "abcd");
    EXPECT_EQ(to_text(pattern("0001PPPPIIIIIIII")), "1PII") << "in digits, where they tell it";
}

TEST(usid_pattern, what_is_none_is_refused)
{
    for (const char *text : {"", "1PI", "1PIII", "1pII", "gPII", "01PPIIIIIIIIIII2", "01PPIIIIIIIIIII", "1P I"})
        EXPECT_FALSE(parse_usid_pattern(text)) << text;
}

TEST(usid_plan, the_usual_one)
{
    const usid_plan plan;
    EXPECT_EQ(plan.block_bytes(), 4);
    EXPECT_EQ(plan.spine(plane_index{3}, 255), 0x13ff);
    EXPECT_EQ(plan.leaf(plane_index{0}, 0), 0x2000);
    EXPECT_EQ(plan.leaf(plane_index{7}, 255), 0x27ff);
    EXPECT_EQ(plan.leaf(plane_index{2}, 256), 0x3200);
    EXPECT_EQ(plan.leaf(plane_index{7}, max_leaves - 1), 0x77ff);
    EXPECT_EQ(plan.host({}, 5), 0x8005);
    EXPECT_EQ(plan.host(plane_index{3}, 5), 0x8305);
    EXPECT_EQ(to_text(plan.carrier({0x2000, 0x1000, 0x2001, 0x8000})), "fcbb:bb00:2000:1000:2001:8000::");
    EXPECT_FALSE(plan.check({.planes = 8, .leaves = max_leaves, .spines = max_uplinks, .hosts_per_leaf = 256}));
}

TEST(usid_plan, further_patterns_take_the_numbers_beyond)
{
    const usid_plan plan{site()};
    EXPECT_EQ(plan.leaf(plane_index{1}, 4095), 0x5fff);
    EXPECT_EQ(plan.leaf(plane_index{1}, 4096), 0xc100);
    EXPECT_EQ(plan.leaf(plane_index{1}, 4096 + 256), 0) << "no room";
}

TEST(usid_plan, a_given_usid_comes_before_the_patterns)
{
    usid_options options = site();
    options.given = {{.plane = plane_index{1}, .leaf = 3, .spine = std::nullopt, .usid = 0xa01f},
                     {.plane = plane_index{0}, .leaf = std::nullopt, .spine = 2, .usid = 0xb000}};
    const usid_plan plan{options};
    EXPECT_EQ(plan.leaf(plane_index{1}, 3), 0xa01f);
    EXPECT_EQ(plan.leaf(plane_index{0}, 3), 0x4003);
    EXPECT_EQ(plan.spine(plane_index{0}, 2), 0xb000);
    EXPECT_EQ(plan.plane_of_leaf(0xa01f), plane_index{1});
    EXPECT_EQ(plan.spine_of(plane_index{0}, 0xb000, 4), 2U);
    EXPECT_FALSE(plan.spine_of(plane_index{1}, 0xb000, 4));
}

TEST(usid_plan, uncountable_or_ambiguous_plans_are_refused)
{
    const auto fault_of = [](const usid_options &options, usid_plan::shape shape) {
        const auto fault = usid_plan{options}.check(shape);
        return fault ? fault->key + ": " + fault->text : "";
    };
    EXPECT_EQ(fault_of(site(), {.planes = 2, .leaves = 8, .spines = 8, .hosts_per_leaf = 8}), "");
    EXPECT_EQ(fault_of(site(), {.planes = 2, .leaves = 8, .spines = 17, .hosts_per_leaf = 8}),
              "spine_usid: gives spine 16 of plane 0 no uSID: it has room for 16; allowed are a further pattern, or a "
              "[[usid]] "
              "for each switch beyond");
    EXPECT_EQ(fault_of(site(), {.planes = 5, .leaves = 8, .spines = 8, .hosts_per_leaf = 8}),
              "leaf_usid: found \"01PPIIIIIIIIIIII\", which has room for 4 planes, allowed is room for 5, as "
              "fabric.planes is 5, or no P: the same uSIDs on all planes");
    usid_options beyond = site();
    beyond.given = {{.plane = plane_index{0}, .leaf = std::nullopt, .spine = 16, .usid = 0xb000}};
    EXPECT_EQ(fault_of(beyond, {.planes = 1, .leaves = 8, .spines = 17, .hosts_per_leaf = 8}), "");
    usid_options twice = site();
    twice.spine = {pattern("4P0I")};
    EXPECT_EQ(fault_of(twice, {.planes = 1, .leaves = 8, .spines = 8, .hosts_per_leaf = 8}),
              "spine_usid: gives spine 0 of plane 0 uSID 4000, which leaf 0 has; allowed is a uSID of its own");
    usid_options zero = site();
    zero.host = pattern("PPII");
    EXPECT_EQ(fault_of(zero, {.planes = 1, .leaves = 1, .spines = 1, .hosts_per_leaf = 1}),
              "host_usid: gives host 0 of plane 0 uSID 0, which ends a carrier");
}

// Paths of a host, as carriers and destinations have them, over blocks of any length.
TEST(usid_plan, paths_follow_it)
{
    daemon_config config;
    config.fabric.planes = 2;
    config.fabric.leaves = 2;
    config.fabric.uplinks = 2;
    config.fabric.usids = site();
    config.fabric.usids.host = pattern("ePII");
    for (const auto &[block, expected, own] :
         {std::tuple{"fd00::/16", "fd00:5000:111:5001:e103::", "fd00:5000:e103::"},
          std::tuple{"fd00:12::/32", "fd00:12:5000:111:5001:e103::", "fd00:12:5000:e103::"},
          std::tuple{"fd00:12:5::/48", "fd00:12:5:5000:111:5001:e103:0", "fd00:12:5:5000:e103::"},
          std::tuple{"fd00:12:5:7::/64", "fd00:12:5:7:5000:111:5001:e103", "fd00:12:5:7:5000:e103::"}}) {
        config.fabric.usids.block = parse_prefix(block).value();
        const srv6_fabric fabric{config};
        const auto usid = fabric.host_usid({.leaf = 1, .downlink = 3});
        const auto path = fabric.path_of({.leaf = 1, .base = 1, .planes = 2, .uplinks = 2}, plane_index{1}, 1);
        EXPECT_EQ(to_text(mrc_path_destination(&path, usid)), expected);
        const auto near = fabric.path_of({.leaf = 0, .base = 1, .planes = 2, .uplinks = 1}, plane_index{1}, 0);
        EXPECT_EQ(to_text(mrc_path_destination(&near, usid)), own);
    }
}

} // namespace
} // namespace mrc::service
