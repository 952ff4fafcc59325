// SPDX-License-Identifier: Apache-2.0
// Direct mode in the configuration: what little it needs, and what it refuses, in words that say why.
#include "service/config/config.h"

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

const std::string direct = "[fabric]\nmode = \"direct\"\n"
                           "[[port]]\ndevice = \"p0\"\nplane = 0\n[[port]]\ndevice = \"p1\"\nplane = 1\n"
                           "[[peer]]\naddresses = [\"fd10::2\", \"fd11::2\"]\n"
                           "[[peer]]\naddresses = [\"10.0.0.3\", \"none\"]\n";

std::string replaced(std::string text, std::string_view from, std::string_view to)
{
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(direct_mode, the_mode_ports_and_peers_are_enough)
{
    const auto config = parse_config(direct, "test");
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(config->fabric.mode, fabric_mode::direct);
    EXPECT_EQ(config->fabric.planes, 2) << "as many as a peer has addresses";
    EXPECT_EQ(config->fabric.leaves, 2U) << "each host is a leaf";
    EXPECT_EQ(config->fabric.uplinks, 16U) << "and its EVs are the uplinks";
    ASSERT_EQ(config->hosts.size(), 2U);
    EXPECT_EQ(to_text(*config->hosts[0].addresses[1]), "fd11::2");
    EXPECT_EQ(to_text(*config->hosts[1].addresses[0]), "10.0.0.3");
    EXPECT_EQ(config->hosts[1].addresses[1], std::nullopt);
}

TEST(direct_mode, the_printed_configuration_is_one)
{
    const auto config = parse_config(direct, "test");
    ASSERT_TRUE(config) << config.error().text();
    const std::string printed = print_config(*config);
    EXPECT_EQ(printed.find("leaf ="), std::string::npos) << printed;
    const auto again = parse_config(printed, "printed");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->hosts.size(), 2U);
    EXPECT_EQ(again->fabric.uplinks, config->fabric.uplinks);
}

TEST(direct_mode, an_srv6_fabric_prints_none_of_it)
{
    const auto config = parse_config("[host]\nleaf = 1\ndownlink = 2\n[fabric]\nplanes = 1\nleaves = 2\nuplinks = 2\n"
                                     "[[port]]\ndevice = \"p0\"\nplane = 0\n",
                                     "test");
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(print_config(*config).find("addresses ="), std::string::npos);
}

struct refusal {
    std::string_view name;
    std::string_view from;
    std::string_view to;
    std::string_view error;
};

class direct_mode_refusals : public testing::TestWithParam<refusal>
{
};

TEST_P(direct_mode_refusals, say_what_was_found_and_what_is_allowed)
{
    const auto config = parse_config(replaced(direct, GetParam().from, GetParam().to), "test");
    ASSERT_FALSE(config) << GetParam().name;
    EXPECT_EQ(config.error().text(), GetParam().error) << GetParam().name;
}

constexpr std::array refusals{
    refusal{"a leaf", "[fabric]", "[host]\nleaf = 1\n[fabric]",
            R"(test:2:1: host.leaf: found with fabric.mode "direct", allowed only with "srv6")"},
    refusal{"a gateway", "plane = 0\n", "plane = 0\ngateway = \"fe80::1\"\n",
            R"(test:6:1: port[0].gateway: found with fabric.mode "direct", allowed only with "srv6")"},
    refusal{"too few addresses", R"(["fd10::2", "fd11::2"])", R"(["fd10::2", "fd11::2", "fd12::2"])",
            "test:12:1: peer[1].addresses: found 2 addresses, allowed are 3, one for each plane (\"none\" where the "
            "host is not on it)"},
    refusal{
        "an address twice", "\"none\"", "\"fd10::2\"",
        "test:12:1: peer[1].addresses: found \"fd10::2\", which peer[0].addresses has already; allowed is one place "
        "for an address"},
    refusal{"a host nowhere", R"(["10.0.0.3", "none"])", R"(["none", "none"])",
            "test:12:1: peer[1].addresses: found no address, allowed is one at least"},
    refusal{
        "link-local", "\"fd10::2\"", "\"fe80::2\"",
        "test:10:13: peer[0].addresses: found [\"fe80::2\", \"fd11::2\"], allowed is a list of addresses, one for each "
        "plane: \"none\" or a unicast IPv6 or IPv4 address, not a link-local one"},
    refusal{"a port of no plane", "plane = 1\n", "plane = 2\n",
            "test:8:1: port[1].plane: found 2, allowed is 0 to 1, as fabric.planes is 2"},
};

INSTANTIATE_TEST_SUITE_P(all, direct_mode_refusals, testing::ValuesIn(refusals));

TEST(direct_mode, peers_are_required)
{
    const auto config = parse_config("[fabric]\nmode = \"direct\"\n[[port]]\ndevice = \"p0\"\nplane = 0\n", "test");
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().text(),
              "test: peer: missing; required is one [[peer]] per host with fabric.mode \"direct\"");
}

TEST(direct_mode, the_paths_of_a_peer_must_fit_their_table)
{
    std::string many = "[fabric]\nmode = \"direct\"\npaths = 256\n[[port]]\ndevice = \"p0\"\nplane = 0\n";
    for (int host = 1; host <= 40; ++host)
        many += "[[peer]]\naddresses = [\"fd10::" + std::to_string(host) + "\"]\n";
    EXPECT_TRUE(parse_config(many, "test")) << "those of all peers at once need not";
    const auto config = parse_config(many + "[tables]\npaths = 255\n", "test");
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().text(),
              "test:88:1: tables.paths: found 255, allowed is 256 or more: 1 planes of 256 paths");
}

} // namespace
} // namespace mrc::service
