// SPDX-License-Identifier: Apache-2.0
// [[sockets]]: the ordinary addresses of hosts, and what is refused in words that say why.
#include "service/config/config.h"

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

const std::string srv6_hosts = "[host]\nleaf = 0\ndownlink = 0\n[fabric]\nplanes = 1\nleaves = 2\nuplinks = 2\n"
                               "ipv4_prefix = \"10.128.0.0/12\"\n"
                               "[[port]]\ndevice = \"p0\"\nplane = 0\n";
const std::string direct_hosts = "[fabric]\nmode = \"direct\"\n[[port]]\ndevice = \"p0\"\nplane = 0\n"
                                 "[[peer]]\naddresses = [\"fd10::2\"]\naddress = \"fd20::2\"\n";

std::string listed(const std::string &fabric, std::string_view host, std::string_view addresses)
{
    return fabric + "[[sockets]]\nhost = \"" + std::string{host} + "\"\naddresses = [" + std::string{addresses} + "]\n";
}

std::string outcome_of(const std::string &text)
{
    const auto config = parse_config(text, "test");
    return config ? "accepted" : config.error().text();
}

TEST(sockets_config, hosts_have_addresses_of_both_families)
{
    const auto config = parse_config(listed(srv6_hosts, "fd6d:7263::1:1", R"("192.0.2.2", "2001:db8::2")"), "test");
    ASSERT_TRUE(config) << config.error().text();
    ASSERT_EQ(config->sockets.size(), 1U);
    EXPECT_EQ(to_text(config->sockets[0].host), "fd6d:7263::1:1");
    ASSERT_EQ(config->sockets[0].addresses.size(), 2U);
    EXPECT_EQ(to_text(config->sockets[0].addresses[0]), "192.0.2.2");
    const auto again = parse_config(print_config(*config), "printed");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->sockets.size(), 1U);
}

TEST(sockets_config, hosts_of_direct_mode_are_those_with_an_overlay)
{
    EXPECT_EQ(outcome_of(listed(direct_hosts, "fd20::2", R"("2001:db8::2", "fd10::2")")), "accepted");
}

struct sockets_refusal {
    std::string_view name;
    std::string text;
    std::string_view error;
};

class sockets_config_refusals : public testing::TestWithParam<sockets_refusal>
{
};

TEST_P(sockets_config_refusals, say_what_was_found_and_what_is_allowed)
{
    EXPECT_EQ(outcome_of(GetParam().text), GetParam().error) << GetParam().name;
}

const std::string twice = listed(srv6_hosts, "fd6d:7263::1:1", R"("192.0.2.2")");

const std::array sockets_refusals{
    sockets_refusal{
        "no host of the fabric", listed(srv6_hosts, "fd6d:7263::9:1", R"("192.0.2.2")"),
        "test:13:1: sockets[0].host: found fd6d:7263::9:1, allowed is the common MRC address of a host of this fabric"},
    sockets_refusal{
        "an address of a plane", listed(srv6_hosts, "fd6d:7263:1::1:1", R"("192.0.2.2")"),
        "test:13:1: sockets[0].host: found fd6d:7263:1::1:1, allowed is the common MRC address of a host of this "
        "fabric"},
    sockets_refusal{
        "no host of direct mode", listed(direct_hosts, "fd10::2", R"("2001:db8::2")"),
        "test:10:1: sockets[0].host: found fd10::2, allowed is the address of a [[peer]], or [host] address"},
    sockets_refusal{
        "an MRC address", listed(srv6_hosts, "fd6d:7263::1:1", R"("fd6d:7263::2")"),
        "test:14:1: sockets[0].addresses: found fd6d:7263::2, an MRC address; allowed are addresses on other networks"},
    sockets_refusal{
        "an MRC address of IPv4", listed(srv6_hosts, "fd6d:7263::1:1", R"("10.128.0.1")"),
        "test:14:1: sockets[0].addresses: found 10.128.0.1, an MRC address; allowed are addresses on other networks"},
    sockets_refusal{
        "the address of an overlay", listed(direct_hosts, "fd20::2", R"("fd20::2")"),
        "test:11:1: sockets[0].addresses: found fd20::2, which sockets[0].host has already; allowed is one place for "
        "an address"},
    sockets_refusal{
        "IPv4 without IPv4 of MRC",
        listed("[host]\nleaf = 0\ndownlink = 0\n[fabric]\nplanes = 1\nleaves = 2\nuplinks = 2\n[[port]]\ndevice = "
               "\"p0\"\nplane = 0\n",
               "fd6d:7263::1:1", R"("192.0.2.2")"),
        "test:13:1: sockets[0].addresses: found 192.0.2.2, allowed are IPv6 addresses: hosts have IPv4 MRC addresses "
        "only with fabric.ipv4_prefix"},
    sockets_refusal{
        "IPv4 in direct mode", listed(direct_hosts, "fd20::2", R"("192.0.2.2")"),
        "test:11:1: sockets[0].addresses: found 192.0.2.2, allowed are IPv6 addresses: in direct mode the overlay has "
        "no IPv4"},
    sockets_refusal{"link-local", listed(srv6_hosts, "fd6d:7263::1:1", R"("fe80::2")"),
                    "test:14:13: sockets[0].addresses: found [\"fe80::2\"], allowed is a list of unicast IPv6 or IPv4 "
                    "addresses, not "
                    "link-local ones"},
    sockets_refusal{
        "none", listed(srv6_hosts, "fd6d:7263::1:1", ""),
        "test:14:13: sockets[0].addresses: found [], allowed is a list of unicast IPv6 or IPv4 addresses, not "
        "link-local ones"},
    sockets_refusal{"an address of two hosts", listed(twice, "fd6d:7263::1", R"("192.0.2.2")"),
                    "test:17:1: sockets[1].addresses: found 192.0.2.2, which sockets[0].addresses has already; allowed "
                    "is one place "
                    "for an address"},
    sockets_refusal{
        "a host twice", listed(twice, "fd6d:7263::1:1", R"("192.0.2.3")"),
        "test:16:1: sockets[1].host: found fd6d:7263::1:1, which sockets[0].host has already; allowed is one place for "
        "an address"},
};

INSTANTIATE_TEST_SUITE_P(all, sockets_config_refusals, testing::ValuesIn(sockets_refusals));

} // namespace
} // namespace mrc::service
