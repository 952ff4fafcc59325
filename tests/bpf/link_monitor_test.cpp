// SPDX-License-Identifier: Apache-2.0
#include "service/ports/link_monitor.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "near_and_far_network.h"

namespace mrc::service
{
namespace
{

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto deadline = 5s;
constexpr mac_address literal_gateway = {0x02, 0x20, 0, 0, 0, 0x07};

class link_monitor_test : public testing::Test
{
protected:
    void SetUp() override
    {
        if (geteuid() != 0)
            GTEST_SKIP() << "network namespaces need root";
        network_ = std::make_unique<test::near_and_far_network>();
        // No second spent on duplicate address detection before a device may solicit.
        net().near("echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad");
        net().far("sh -c 'echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad'");
    }

    test::near_and_far_network &net() { return *network_; }

    // p0 to d0 on the far side, both up, no addresses but the kernel's own.
    void add_port(const std::string &device, const std::string &peer)
    {
        net().add_link(device, peer);
        net().ip("link set " + device + " address 02:80:00:00:00:01 up");
        net().far_ip("link set " + peer + " address 02:20:00:00:00:01 up");
    }

    void watch(std::vector<port_options> ports)
    {
        monitor_ = std::make_unique<link_monitor>(ports);
        ASSERT_TRUE(monitor_->refresh());
    }

    const port_condition &port(std::size_t row = 0) { return monitor_->ports()[row]; }

    // Reads events until the condition holds; false at the deadline.
    bool until(const std::function<bool()> &condition)
    {
        const auto end = steady_clock::now() + deadline;
        while (!condition()) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now());
            pollfd readable{.fd = monitor_->fd(), .events = POLLIN, .revents = 0};
            if (left <= 0ms || poll(&readable, 1, static_cast<int>(left.count())) <= 0)
                return condition();
            const std::vector<port_condition> before{monitor_->ports().begin(), monitor_->ports().end()};
            const bool has_changed = monitor_->on_readable();
            EXPECT_EQ(has_changed, !std::equal(before.begin(), before.end(), monitor_->ports().begin()));
        }
        return true;
    }

    bool until_reason(mrc_port_reason reason)
    {
        return until([&] { return port().reason == reason; });
    }

    bool until_gateway(std::string_view mac)
    {
        return until([&] { return port().is_usable() && to_text(port().gateway_mac) == mac; });
    }

    std::unique_ptr<test::near_and_far_network> network_;
    std::unique_ptr<link_monitor> monitor_;
};

port_options port_with(std::string_view device, gateway_option gateway = automatic_gateway{})
{
    port_options options;
    options.device = device;
    options.gateway = gateway;
    return options;
}

gateway_option address(std::string_view text)
{
    return parse_ip(text).value_or(mrc_ip{});
}

TEST_F(link_monitor_test, device_comes_goes_and_comes_back)
{
    watch({port_with("p0", literal_gateway)});
    EXPECT_EQ(port().reason, MRC_PORT_MISSING);
    EXPECT_EQ(port().flags, 0U);

    net().add_link("p0", "d0");
    EXPECT_TRUE(until_reason(MRC_PORT_DOWN));
    EXPECT_EQ(port().flags, std::uint32_t{MRC_PORT_PRESENT | MRC_PORT_NEIGHBOUR});
    EXPECT_EQ(port().mtu, 1500U);
    const auto first = port().ifindex;
    EXPECT_NE(first, 0U);

    net().ip("link del p0");
    EXPECT_TRUE(until_reason(MRC_PORT_MISSING));
    port_condition gone;
    gone.departures = 1;
    EXPECT_EQ(port(), gone);

    net().add_link("p0", "d0");
    EXPECT_TRUE(until_reason(MRC_PORT_DOWN));
    EXPECT_NE(port().ifindex, first);
}

TEST_F(link_monitor_test, carrier_and_attributes_follow)
{
    add_port("p0", "d0");
    watch({port_with("p0", literal_gateway)});
    EXPECT_TRUE(until([&] { return port().is_usable(); }));
    EXPECT_EQ(port().reason, MRC_PORT_IN_USE);
    EXPECT_EQ(to_text(port().mac), "02:80:00:00:00:01");
    EXPECT_EQ(to_text(port().gateway_mac), "02:20:00:00:00:07");

    net().far_ip("link set d0 down");
    EXPECT_TRUE(until_reason(MRC_PORT_NO_CARRIER));
    EXPECT_EQ(port().flags & MRC_PORT_UP, 0U);
    net().far_ip("link set d0 up");
    EXPECT_TRUE(until_reason(MRC_PORT_IN_USE));
    net().ip("link set p0 down");
    EXPECT_TRUE(until_reason(MRC_PORT_DOWN));
    net().ip("link set p0 up mtu 3400 address 02:80:00:00:00:02");
    EXPECT_TRUE(until([&] { return port().is_usable() && port().mtu == 3400; }));
    EXPECT_EQ(to_text(port().mac), "02:80:00:00:00:02");
}

TEST_F(link_monitor_test, renamed_device_is_another_port)
{
    net().add_link("old", "d0");
    watch({port_with("p0", literal_gateway), port_with("p1", literal_gateway)});
    net().ip("link set old name p0");
    net().ip("link set p0 up");
    EXPECT_TRUE(until([&] { return port(0).ifindex != 0 && port(1).ifindex == 0; }));
    const auto ifindex = port(0).ifindex;
    net().ip("link set p0 down"); // kernels before 6.2 refuse to rename one that is up
    net().ip("link set p0 name p1");
    EXPECT_TRUE(until([&] { return port(0).ifindex == 0 && port(1).ifindex == ifindex; }));
    EXPECT_EQ(port(0).reason, MRC_PORT_MISSING);
}

TEST_F(link_monitor_test, device_in_another_namespace_is_missing)
{
    net().add_link("p0", "d0");
    watch({port_with("p0")});
    EXPECT_NE(port().ifindex, 0U);
    net().move_far("p0");
    EXPECT_TRUE(until_reason(MRC_PORT_MISSING));
}

// The same device under the same index, but what was bound to it is gone.
TEST_F(link_monitor_test, device_back_from_another_namespace_counts_as_departed)
{
    net().add_link("p0 index 77", "d0"); // free in the other namespace, too
    net().ip("link set p0 up");
    net().far_ip("link set d0 up");
    watch({port_with("p0", literal_gateway)});
    ASSERT_TRUE(until([&] { return port().is_usable(); }));
    const port_condition before = port();
    EXPECT_EQ(before.departures, 0U);
    net().move_far("p0");
    net().move_near("p0");
    net().ip("link set p0 up");
    EXPECT_TRUE(until([&] { return port().is_usable() && port() != before; }));
    EXPECT_EQ(port().ifindex, before.ifindex);
    EXPECT_EQ(port().departures, 1U);
}

TEST_F(link_monitor_test, permanent_neighbour_added_changed_removed)
{
    add_port("p0", "d0");
    watch({port_with("p0", address("fe80::1"))});
    EXPECT_TRUE(until_reason(MRC_PORT_NO_NEIGHBOUR));
    EXPECT_EQ(port().flags, std::uint32_t{MRC_PORT_PRESENT | MRC_PORT_UP});

    net().ip("neigh replace fe80::1 lladdr 02:20:00:00:00:07 dev p0 nud permanent");
    EXPECT_TRUE(until_gateway("02:20:00:00:00:07"));
    net().ip("neigh replace fe80::1 lladdr 02:20:00:00:00:08 dev p0 nud permanent");
    EXPECT_TRUE(until_gateway("02:20:00:00:00:08"));
    net().ip("neigh del fe80::1 dev p0");
    EXPECT_TRUE(until_reason(MRC_PORT_NO_NEIGHBOUR));
    EXPECT_EQ(port().gateway_mac, mac_address{});
}

TEST_F(link_monitor_test, neighbour_known_before_the_start_is_found)
{
    add_port("p0", "d0");
    net().ip("neigh replace fe80::1 lladdr 02:20:00:00:00:07 dev p0 nud permanent");
    watch({port_with("p0", address("fe80::1"))});
    EXPECT_TRUE(until_gateway("02:20:00:00:00:07"));
}

// A device that is renamed into place brings neighbours that were not followed before.
TEST_F(link_monitor_test, neighbours_of_a_device_that_gets_its_name_later)
{
    add_port("old", "d0");
    net().ip("link set old down"); // kernels before 6.2 refuse to rename one that is up
    net().ip("neigh replace fe80::1 lladdr 02:20:00:00:00:07 dev old nud permanent");
    watch({port_with("p0", address("fe80::1"))});
    EXPECT_EQ(port().reason, MRC_PORT_MISSING);
    net().ip("link set old name p0");
    net().ip("link set p0 up");
    EXPECT_TRUE(until_gateway("02:20:00:00:00:07"));
}

// Nobody sends through the kernel: the monitor itself makes it ask.
TEST_F(link_monitor_test, gateway_is_solicited)
{
    add_port("p0", "d0");
    net().far_ip("addr add fe80::1/64 dev d0 nodad");
    watch({port_with("p0", address("fe80::1"))});
    EXPECT_TRUE(until_gateway("02:20:00:00:00:01"));
}

// Resolution that failed goes on: the address appears only after the kernel has given up once.
TEST_F(link_monitor_test, gateway_that_appears_late_is_solicited_again)
{
    add_port("p0", "d0");
    net().ip("ntable change name ndisc_cache dev p0 retrans 100");
    watch({port_with("p0", address("fe80::1"))});
    int readings = 0;
    EXPECT_TRUE(until([&] { return ++readings > 4; })); // link-local addresses, incomplete, failed
    net().far_ip("addr add fe80::1/64 dev d0 nodad");
    EXPECT_TRUE(until_gateway("02:20:00:00:00:01"));
}

TEST_F(link_monitor_test, gateway_that_moves_to_another_address_is_followed_within_a_second)
{
    add_port("p0", "d0");
    net().far_ip("addr add fe80::1/64 dev d0 nodad");
    net().far("sh -c 'echo 1 > /proc/sys/net/ipv6/conf/d0/ndisc_notify'");
    watch({port_with("p0", address("fe80::1"))});
    ASSERT_TRUE(until_gateway("02:20:00:00:00:01"));
    net().far_ip("link set d0 address 02:20:00:00:00:09");
    const auto start = steady_clock::now();
    EXPECT_TRUE(until_gateway("02:20:00:00:00:09"));
    EXPECT_LT(steady_clock::now() - start, 1s);
}

// The MAC address changed without a word while nobody sent through the kernel's table.
TEST_F(link_monitor_test, stale_gateway_is_probed)
{
    add_port("p0", "d0");
    net().far_ip("addr add fe80::1/64 dev d0 nodad");
    net().ip("ntable change name ndisc_cache dev p0 retrans 100 delay_probe 100");
    watch({port_with("p0", address("fe80::1"))});
    ASSERT_TRUE(until_gateway("02:20:00:00:00:01"));
    net().ip("neigh replace fe80::1 lladdr 02:20:00:00:00:07 dev p0 nud stale");
    EXPECT_TRUE(until_gateway("02:20:00:00:00:07"));
    EXPECT_TRUE(until_gateway("02:20:00:00:00:01"));
}

TEST_F(link_monitor_test, automatic_gateway_is_the_only_neighbour)
{
    add_port("p0", "d0");
    watch({port_with("p0")});
    net().ip("neigh replace fe80::1 lladdr 02:20:00:00:00:07 dev p0 nud permanent");
    EXPECT_TRUE(until_gateway("02:20:00:00:00:07"));
    net().ip("neigh replace 10.0.0.1 lladdr 02:20:00:00:00:07 dev p0 nud permanent"); // the same neighbour
    net().ip("neigh replace fe80::2 lladdr 02:20:00:00:00:08 dev p0 nud permanent");
    EXPECT_TRUE(until_reason(MRC_PORT_SEVERAL_NEIGHBOURS));
    net().ip("neigh replace fe80::2 lladdr 02:20:00:00:00:08 dev p0 nud permanent router");
    EXPECT_TRUE(until_gateway("02:20:00:00:00:08"));
    net().ip("neigh replace fe80::1 lladdr 02:20:00:00:00:07 dev p0 nud permanent router");
    EXPECT_TRUE(until_reason(MRC_PORT_SEVERAL_NEIGHBOURS));
}

TEST_F(link_monitor_test, automatic_gateway_is_found_when_the_table_is_empty)
{
    add_port("p0", "d0");
    net().far("sh -c 'echo 1 > /proc/sys/net/ipv6/conf/d0/forwarding'"); // a router joins ff02::2
    watch({port_with("p0")});
    EXPECT_TRUE(until_gateway("02:20:00:00:00:01"));
}

// More notifications than the socket holds: the monitor starts over with a dump.
TEST_F(link_monitor_test, lost_notifications_are_made_good)
{
    add_port("p0", "d0");
    watch({port_with("p0", address("fe80::1"))});
    ASSERT_TRUE(until_reason(MRC_PORT_NO_NEIGHBOUR));
    net().ip("neigh replace fe80::1 lladdr 02:20:00:00:00:07 dev p0 nud permanent");
    const auto batch = std::string{"-batch - <<EOF >/dev/null\n$(for i in $(seq 1 8000); do "
                                   "echo link set p0 mtu $((1500 + i % 100)); done)\nEOF\n"};
    net().ip(batch);
    net().ip("link set p0 mtu 3000");
    EXPECT_TRUE(until([&] { return port().mtu == 3000; }));
    EXPECT_TRUE(until_gateway("02:20:00:00:00:07"));
}

// Next hops of a direct fabric: two hosts on the link, and one behind a router on it. This host is in the list, too.
class next_hops_of_peers : public link_monitor_test
{
protected:
    void SetUp() override
    {
        link_monitor_test::SetUp();
        if (IsSkipped())
            return;
        add_port("p0", "d0");
        net().ip("address add fd10::1/64 dev p0 nodad");
        net().far_ip("address add fd10::2/64 dev d0 nodad");
    }

    static host_entry host_at(std::string_view text) { return {.addresses = {parse_ip(text)}}; }

    void watch_hosts(const std::vector<host_entry> &hosts)
    {
        port_options options = port_with("p0");
        options.own_address = parse_ip("fd10::1");
        monitor_ = std::make_unique<link_monitor>(std::vector<port_options>{options}, hosts);
        ASSERT_TRUE(monitor_->refresh());
    }

    bool until_next_hops(const std::vector<std::string> &macs)
    {
        return until([&] {
            std::vector<std::string> found;
            for (const auto &mac : port().next_hops)
                found.push_back(mac ? to_text(*mac) : "none");
            return found == macs;
        });
    }
};

constexpr auto far_mac = "02:20:00:00:00:01";

TEST_F(next_hops_of_peers, are_found_without_anybody_having_sent_anything)
{
    watch_hosts({host_at("fd10::1"), host_at("fd10::2"), host_at("fd10::3")});
    EXPECT_TRUE(until_next_hops({"none", far_mac, "none"}));
    EXPECT_TRUE(port().is_usable());
    EXPECT_EQ(port().gateway_mac, mac_address{}) << "there is no one neighbour for all";
    net().far_ip("address add fd10::3/64 dev d0 nodad");
    EXPECT_TRUE(until_next_hops({"none", far_mac, far_mac})) << "it is solicited each second";
}

TEST_F(next_hops_of_peers, nobody_there_is_a_port_without_neighbour)
{
    watch_hosts({host_at("fd10::7")});
    EXPECT_TRUE(until_reason(MRC_PORT_NO_NEIGHBOUR));
    EXPECT_FALSE(port().is_usable());
    net().far_ip("address add fd10::7/64 dev d0 nodad");
    EXPECT_TRUE(until_next_hops({far_mac}));
    EXPECT_EQ(port().reason, MRC_PORT_IN_USE);
}

TEST_F(next_hops_of_peers, follow_the_kernels_routes)
{
    watch_hosts({host_at("fd20::9")});
    EXPECT_TRUE(until_reason(MRC_PORT_NO_NEIGHBOUR)) << "no route leads there by this port";
    net().ip("route add fd20::/64 via fd10::2 dev p0");
    EXPECT_TRUE(until_next_hops({far_mac}));
    net().far_ip("link set d0 address 02:20:00:00:00:02");
    net().ip("neighbour replace fd10::8 lladdr 02:20:00:00:00:08 dev p0 nud permanent");
    net().ip("route replace fd20::/64 via fd10::8 dev p0");
    EXPECT_TRUE(until_next_hops({"02:20:00:00:00:08"}));
    net().ip("route del fd20::/64");
    EXPECT_TRUE(until_next_hops({"none"}));
}

TEST_F(next_hops_of_peers, are_those_of_ipv4_too)
{
    net().ip("address add 10.9.0.1/24 dev p0");
    net().far_ip("address add 10.9.0.2/24 dev d0");
    watch_hosts({host_at("10.9.0.2")});
    EXPECT_TRUE(until_next_hops({far_mac}));
}

} // namespace
} // namespace mrc::service
