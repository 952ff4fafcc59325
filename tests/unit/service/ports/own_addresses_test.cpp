// SPDX-License-Identifier: Apache-2.0
#include "service/ports/own_addresses.h"

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

mrc_ip ip(std::string_view text)
{
    const auto address = parse_ip(text);
    EXPECT_TRUE(address) << text;
    return address.value_or(mrc_ip{});
}

daemon_config config_with(const std::string &ports, const std::string &peers)
{
    auto config = parse_config("[fabric]\nmode = \"direct\"\n" + ports + peers, "test");
    EXPECT_TRUE(config) << config.error().text();
    return config.value_or(daemon_config{});
}

const std::string two_ports = "[[port]]\ndevice = \"p0\"\nplane = 0\n[[port]]\ndevice = \"p1\"\nplane = 1\n";
const std::string one_peer = "[[peer]]\naddresses = [\"fd10::2\", \"fd11::2\"]\n";
const std::string self_too = one_peer + "[[peer]]\naddresses = [\"fd10::1\", \"fd11::1\"]\n";

std::string error_of(daemon_config config, const std::vector<device_address> &on_devices)
{
    const auto found = find_own_addresses(config, on_devices);
    return found ? "" : found.error();
}

TEST(own_addresses, the_only_address_of_a_device_is_the_ports)
{
    daemon_config config = config_with(two_ports, one_peer);
    ASSERT_TRUE(find_own_addresses(
        config, std::vector<device_address>{{"p0", ip("fd10::1")}, {"p1", ip("fd11::1")}, {"p0", ip("10.0.0.1")}}));
    EXPECT_EQ(to_text(*config.ports[0].own_address), "fd10::1") << "the one in IPv4 is nobody's here";
    EXPECT_EQ(to_text(*config.ports[1].own_address), "fd11::1");
}

TEST(own_addresses, of_several_the_one_in_the_list_counts)
{
    daemon_config config = config_with(two_ports, self_too);
    ASSERT_TRUE(find_own_addresses(
        config, std::vector<device_address>{{"p0", ip("fd99::1")}, {"p0", ip("fd10::1")}, {"p1", ip("fd11::1")}}));
    EXPECT_EQ(to_text(*config.ports[0].own_address), "fd10::1");
}

TEST(own_addresses, only_a_missing_one_may_come)
{
    const daemon_config config = config_with(two_ports, self_too);
    const auto missing = [&](const std::vector<device_address> &on_devices) {
        return find_missing_address(config, on_devices);
    };
    EXPECT_EQ(missing({{"p0", ip("fd10::1")}, {"p1", ip("10.0.0.1")}}),
              "port p1 (plane 1) has no address of the peers' family: ip address add, or name the one that it will "
              "have by [[port]] address");
    EXPECT_EQ(missing({{"p0", ip("fd10::1")}, {"p1", ip("fd11::1")}}), "");
    EXPECT_EQ(missing({{"p0", ip("fd10::1")}, {"p1", ip("fd11::2")}}), "") << "a wrong one is no missing one";
    const std::string named = "[[port]]\ndevice = \"p0\"\nplane = 0\naddress = \"fd10::7\"\n";
    EXPECT_EQ(find_missing_address(config_with(named, one_peer), {}), "") << "it is configured";
}

TEST(own_addresses, errors_name_the_port_what_it_has_and_what_helps)
{
    EXPECT_EQ(
        error_of(config_with(two_ports, one_peer), {{"p1", ip("fd11::1")}}),
        "port p0 (plane 0) has no address of the peers' family: ip address add, or name the one that it will have "
        "by [[port]] address");
    EXPECT_EQ(
        error_of(config_with(two_ports, one_peer), {{"p0", ip("fd10::1")}, {"p0", ip("fd10::9")}}),
        "port p0 (plane 0) has several addresses, fd10::1, fd10::9: [[port]] address says which one peers send to");
    const std::string named = "[[port]]\ndevice = \"p0\"\nplane = 0\naddress = \"fd10::7\"\n";
    EXPECT_EQ(error_of(config_with(named, one_peer), {{"p0", ip("fd10::1")}}),
              "port p0 (plane 0): [[port]] address fd10::7 is not on the device, which has fd10::1: ip address add "
              "fd10::7 dev p0, with the prefix length of its network");
    EXPECT_EQ(error_of(config_with(named, one_peer), {}), "") << "a device that is not there yet may get it";
    EXPECT_EQ(error_of(config_with(two_ports, self_too), {{"p0", ip("fd10::1")}, {"p1", ip("fd11::7")}}),
              "port p1 (plane 1) has address fd11::7, but peer[1], this host, has fd11::1 on that plane");
    EXPECT_EQ(
        error_of(config_with(two_ports, self_too), {{"p0", ip("fd10::1")}, {"p1", ip("fd11::2")}}),
        "port p1 (plane 1) has address fd11::2, of peer[0], and other ports have addresses of peer[1]: a host has "
        "one [[peer]]");
    const std::string in_ipv4 = "[[port]]\ndevice = \"p0\"\nplane = 0\naddress = \"10.0.0.1\"\n";
    EXPECT_EQ(
        error_of(config_with(in_ipv4, one_peer), {{"p0", ip("10.0.0.1")}}),
        "port p0 (plane 0) has address 10.0.0.1, but peer[0] has fd10::2 on that plane: both must be IPv6, or IPv4");
}

TEST(own_addresses, the_list_gives_this_host_its_common_address)
{
    const std::string listed = one_peer + "[[peer]]\naddresses = [\"fd10::1\", \"fd11::1\"]\naddress = \"fd00::1\"\n";
    const std::vector<device_address> on_devices{{"p0", ip("fd10::1")}, {"p1", ip("fd11::1")}};
    daemon_config config = config_with(two_ports, listed);
    ASSERT_TRUE(find_own_addresses(config, on_devices));
    EXPECT_EQ(to_text(config.host.address), "fd00::1");
    EXPECT_EQ(error_of(config_with("[host]\naddress = \"fd00::9\"\n" + two_ports, listed), on_devices),
              "[host] address is fd00::9, but peer[1], this host, has fd00::1");
}

TEST(own_addresses, an_overlay_needs_ipv6_on_all_planes)
{
    const std::string peer = "[[peer]]\naddresses = [\"fd10::2\", \"10.0.0.2\"]\n";
    EXPECT_EQ(error_of(config_with("[host]\naddress = \"fd00::1\"\n" + two_ports, peer),
                       {{"p0", ip("fd10::1")}, {"p1", ip("10.0.0.1")}}),
              "port p1 (plane 1) has address 10.0.0.1: [host] address, for the overlay, needs IPv6 on all planes");
}

} // namespace
} // namespace mrc::service
