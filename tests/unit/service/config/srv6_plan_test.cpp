// SPDX-License-Identifier: Apache-2.0
// The SRv6 plan in the configuration: what it takes, prints, and refuses in words that name what is allowed.
#include "service/config/config.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

const std::string shape = "[host]\nleaf = 1\ndownlink = 2\n[[port]]\ndevice = \"p0\"\nplane = 0\n"
                          "[fabric]\nplanes = 2\nleaves = 2\nuplinks = 2\n"; // ten lines

const std::string site = "usid_block = \"fd00:12:5::/48\"\nusid_bits = 16\nleaf_usid = [\"01PPIIIIIIIIIIII\"]\n"
                         "spine_usid = [\"0P1I\"]\nhost_usid = \"ePII\"\n"
                         "[[usid]]\nplane = 1\nleaf = 1\nusid = 0xa01f\n"
                         "[[usid]]\nplane = 0\nspine = 0\nusid = 0xa020\n";

TEST(srv6_plan, is_read_and_printed)
{
    const auto config = parse_config(shape + site, "test");
    ASSERT_TRUE(config) << config.error().text();
    const auto again = parse_config(print_config(*config), "printed");
    ASSERT_TRUE(again) << again.error().text();
    for (const auto *read : {&*config, &*again}) {
        const usid_plan plan{read->fabric.usids};
        EXPECT_EQ(plan.block_bytes(), 6);
        EXPECT_EQ(plan.leaf(protocol::plane_index{1}, 1), 0xa01f);
        EXPECT_EQ(plan.leaf(protocol::plane_index{0}, 1), 0x4001);
        EXPECT_EQ(plan.spine(protocol::plane_index{0}, 0), 0xa020);
        EXPECT_EQ(plan.host(protocol::plane_index{1}, 2), 0xe102);
    }
}

struct refusal {
    std::string_view tables;
    std::string_view error;
};

const refusal refusals[] = {
    {"usid_block = \"fcbb:bb00::/40\"\n", "test:11:14: fabric.usid_block: found \"fcbb:bb00::/40\", allowed is an IPv6 "
                                          "prefix of length 16, 32, 48 or 64"},
    {"usid_block = \"fd00::/80\"\n", "test:11:14: fabric.usid_block: found \"fd00::/80\""},
    {"usid_bits = 32\n",
     "test:11:13: fabric.usid_bits: found 32, allowed is 16: a path takes four uSIDs, and four of 32 "
     "bits fit behind no block"},
    {"spine_usid = [\"1PI\"]\n", "test:11:14: fabric.spine_usid: found"},
    {"host_usid = \"8P00\"\n", "test:11:1: fabric.host_usid: gives host 1 of plane 0 no uSID: it has room for 1"},
    {"spine_usid = [\"2PII\"]\n", "test:11:1: fabric.spine_usid: gives spine 0 of plane 0 uSID 2000, which leaf 0 has"},
    {"[[usid]]\nplane = 0\nusid = 1\n", "test:13:1: usid[0].usid: allowed is either leaf or spine"},
    {"[[usid]]\nplane = 0\nleaf = 0\nspine = 0\nusid = 1\n",
     "test:15:1: usid[0].usid: allowed is either leaf or spine"},
    {"[[usid]]\nplane = 2\nleaf = 0\nusid = 1\n", "test:12:1: usid[0].plane: found 2, allowed is 0 to 1, as "
                                                  "fabric.planes is 2"},
    {"[[usid]]\nplane = 0\nspine = 2\nusid = 1\n", "test:13:1: usid[0].spine: found 2, allowed is 0 to 1, as "
                                                   "fabric.uplinks is 2"},
    {"[[usid]]\nplane = 0\nleaf = 0\nusid = 0\n", "test:14:8: usid[0].usid: found 0, allowed is 0x0001 to 0xffff"},
    {"[[usid]]\nplane = 0\nleaf = 0\nusid = 1\n[[usid]]\nplane = 0\nleaf = 0\nusid = 2\n",
     "test:17:1: usid[1].leaf: found leaf 0 of plane 0 a second time"},
    {"[[usid]]\nplane = 0\nleaf = 0\nusid = 0x1001\n",
     "test:7:2: fabric.spine_usid: gives spine 1 of plane 0 uSID 1001, "
     "which leaf 0 has"},
};

TEST(srv6_plan, refusals_name_the_option_and_what_is_allowed)
{
    for (const auto &[tables, error] : refusals) {
        const auto config = parse_config(shape + std::string{tables}, "test");
        const std::string found = config ? "accepted" : config.error().text();
        EXPECT_TRUE(found.starts_with(error)) << tables << found << "\n" << error;
    }
}

TEST(srv6_plan, direct_mode_has_none)
{
    const std::string direct = "[[port]]\ndevice = \"p0\"\nplane = 0\n[[peer]]\naddresses = [\"fd10::2\"]\n"
                               "[fabric]\nmode = \"direct\"\n";
    for (const char *line :
         {"usid_bits = 16\n", "host_usid = \"8PII\"\n", "[[usid]]\nplane = 0\nleaf = 0\nusid = 1\n"}) {
        const auto config = parse_config(direct + line, "test");
        ASSERT_FALSE(config) << line;
        EXPECT_TRUE(config.error().text().contains("allowed only with \"srv6\"")) << config.error().text();
    }
}

} // namespace
} // namespace mrc::service
