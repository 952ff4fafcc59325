// SPDX-License-Identifier: Apache-2.0
// What switches of a plan are told, in each language.
#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "tools/mrcctl/error.h"
#include "tools/mrcctl/fabric_plan/show.h"

namespace mrc::ctl
{
namespace
{

class fabric_plan : public testing::Test
{
protected:
    ~fabric_plan() override { std::remove(wish.file.c_str()); }

    std::string shown(const std::string &fabric = "usid_block = \"fd00:12:5::/48\"\n")
    {
        std::ofstream{wish.file} << "[host]\nleaf = 0\ndownlink = 0\n[[port]]\ndevice = \"p0\"\nplane = 0\n"
                                    "[fabric]\nplanes = 2\nleaves = 2\nuplinks = 1\nhosts_per_leaf = 2\n"
                                 << fabric;
        return show_fabric(wish);
    }
    std::string refused(const std::string &fabric = "")
    {
        try {
            return shown(fabric);
        } catch (const ctl_error &error) {
            return error.what();
        }
    }

    fabric_show_wish wish{.file = testing::TempDir() + "fabric_plan_test.toml", .name = {}, .language = {}};
};

TEST_F(fabric_plan, a_leaf_in_the_words_of_iproute2)
{
    wish.name = "p1t0-1";
    wish.language = switch_language::iproute2;
    const std::string text = shown();
    EXPECT_TRUE(text.starts_with("# p1t0-1: leaf 1 of plane 1, uSID 2101\n")) << text;
    EXPECT_TRUE(
        text.ends_with("ip -6 route replace fd00:12:5:2101::/64 encap seg6local action End flavors next-csid lblen "
                       "48 nflen 16 count dev sr0\n"
                       "ip -6 route replace fd00:12:5:1100::/64 via fe80::1 dev u0\n"
                       "ip -6 route replace fd00:12:5:8100::/64 via fe80::2 dev d0\n"
                       "ip -6 route replace fd00:12:5:8101::/64 via fe80::2 dev d1\n"))
        << text;
}

TEST_F(fabric_plan, a_spine_in_the_words_of_frr)
{
    wish.name = "p0t1-0";
    wish.language = switch_language::frr;
    wish.names = {.uplink = "up{}", .downlink = "swp{}", .upper = "fe80::a", .lower = "fe80::b"};
    const std::string text = shown();
    EXPECT_TRUE(text.contains("    prefix fd00:12:5:1000::/64 block-len 48 node-len 16 func-bits 16\n")) << text;
    EXPECT_TRUE(text.contains("   sid fd00:12:5:1000::/64 locator MRC behavior uN\n")) << text;
    EXPECT_TRUE(text.ends_with("ipv6 route fd00:12:5:2000::/64 fe80::b swp0\n"
                               "ipv6 route fd00:12:5:2001::/64 fe80::b swp1\n"))
        << text;
}

TEST_F(fabric_plan, sonic_gets_the_tables_of_its_models)
{
    wish.name = "p0t0-0";
    wish.language = switch_language::sonic;
    const auto all = boost::json::parse(shown("")).as_object();
    const auto &locator = all.at("SRV6_MY_LOCATORS").at("MRC");
    EXPECT_EQ(locator.at("prefix"), "fcbb:bb00:2000::");
    EXPECT_EQ(locator.at("block_len"), "32");
    EXPECT_EQ(all.at("SRV6_MY_SIDS").at("MRC|fcbb:bb00:2000::/48").at("action"), "uN");
    EXPECT_EQ(all.at("STATIC_ROUTE").at("default|fcbb:bb00:8001::/48").at("ifname"), "d1");
    EXPECT_EQ(all.at("STATIC_ROUTE").as_object().size(), 3U);
}

TEST_F(fabric_plan, of_all_switches_sonic_gets_one_object)
{
    wish.language = switch_language::sonic;
    EXPECT_EQ(boost::json::parse(shown()).as_object().size(), 6U);
}

TEST_F(fabric_plan, as_json_it_has_every_switch_with_its_routes)
{
    wish.json = true;
    const auto plan = boost::json::parse(shown()).as_object();
    EXPECT_EQ(plan.at("usid_block"), "fd00:12:5::/48");
    ASSERT_EQ(plan.at("switches").as_array().size(), 6U);
    EXPECT_EQ(plan.at("switches").at(2).at("switch"), "p0t1-0");
    EXPECT_EQ(plan.at("switches").at(2).at("routes").at(1).at("toward"), "p0t0-1");
}

TEST_F(fabric_plan, what_it_cannot_show_it_names)
{
    EXPECT_TRUE(refused("usid_bits = 32\n").contains("fabric.usid_bits: found 32")) << refused("usid_bits = 32\n");
    wish.name = "p2t0-0";
    EXPECT_EQ(refused(), "no switch 'p2t0-0' in this fabric; allowed: p0t0-0 to p1t1-0, pPt0-LEAF and pPt1-SPINE");
}

} // namespace
} // namespace mrc::ctl
