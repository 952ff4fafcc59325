// SPDX-License-Identifier: Apache-2.0
// Hosts on networks of the test's own: every port hears every other of its network, until nobody has anything new.
#include "tools/setup/plan.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace mrc::setup
{
namespace
{

using networks = std::vector<std::vector<port_id>>;
const std::vector<std::string> devices{"eth0", "eth1"};

struct hosts_on {
    networks cabling;
    std::map<std::uint64_t, heard_so_far> hosts;
    std::set<std::pair<port_id, port_id>> blocked; // from, to: one way

    hosts_on(networks wires, std::uint64_t count, std::uint8_t ports = 2) : cabling{std::move(wires)}
    {
        for (std::uint64_t host = 1; host <= count; ++host)
            hosts[host].own = {.host = host,
                               .run = 100 + host,
                               .plan = 0,
                               .port = 0,
                               .ports = ports,
                               .name = std::string{"h"} + static_cast<char>('0' + host),
                               .heard = {}};
    }
    void say(port_id from)
    {
        hello sent = hosts[from.host].own;
        sent.port = from.port;
        sent.plan = make_plan(hosts[from.host]).digest;
        for (const auto &network : cabling)
            if (std::ranges::find(network, from) != network.end())
                for (const port_id &to : network)
                    if (to != from && !blocked.contains({from, to}))
                        take_hello(hosts[to.host], *decode_hello(encode_hello(sent)), to.port);
    }
    void settle()
    {
        for (int round = 0; round < 4; ++round)
            for (auto &[host, state] : hosts)
                for (std::uint8_t port = 0; port < state.own.ports; ++port)
                    say({.host = host, .port = port});
    }
    plan planned(std::uint64_t host) { return make_plan(hosts[host]); }
    std::vector<std::string> remarks(std::uint64_t host) { return remarks_on(hosts[host], planned(host), devices); }
    std::string refusal(std::uint64_t host) { return refusal_of(hosts[host], planned(host)); }
};

TEST(plan, two_hosts_on_two_cables_agree_on_two_planes)
{
    hosts_on two{{{{1, 0}, {2, 0}}, {{1, 1}, {2, 1}}}, 2};
    two.settle();
    for (const std::uint64_t host : {1U, 2U}) {
        EXPECT_EQ(two.planned(host).planes, (std::vector<plane_ports>{{{1, 0}, {2, 0}}, {{1, 1}, {2, 1}}}));
        EXPECT_EQ(two.refusal(host), "");
        EXPECT_TRUE(two.remarks(host).empty());
    }
    EXPECT_EQ(two.planned(1).peers_of(1), std::vector<std::uint64_t>{2});
}

TEST(plan, crossed_cables_are_planes_as_they_are_and_named)
{
    hosts_on two{{{{1, 0}, {2, 1}}, {{1, 1}, {2, 0}}}, 2};
    two.settle();
    EXPECT_EQ(two.planned(1).planes, two.planned(2).planes);
    EXPECT_EQ(two.planned(2).port_on(0, 2)->port, 1);
    EXPECT_EQ(two.refusal(2), "");
    ASSERT_EQ(two.remarks(2).size(), 2U);
    EXPECT_NE(two.remarks(2)[0].find("eth1 leads to port 0 of h1"), std::string::npos) << two.remarks(2)[0];
}

TEST(plan, three_hosts_of_which_one_has_a_single_port)
{
    hosts_on three{{{{1, 0}, {2, 0}, {3, 1}}, {{1, 1}, {2, 1}}}, 3};
    three.settle();
    for (const std::uint64_t host : {1U, 2U, 3U}) {
        EXPECT_EQ(three.planned(host).planes.size(), 2U);
        EXPECT_EQ(three.refusal(host), "");
        EXPECT_EQ(three.planned(host).peers_of(host).size(), 2U);
    }
    EXPECT_EQ(three.planned(3).port_on(1, 3), nullptr);
    EXPECT_NE(three.remarks(3).back().find("eth0 is left out: nobody was heard there"), std::string::npos);
}

TEST(plan, hosts_that_know_the_third_by_hearsay_count_planes_alike)
{
    // In a ring each host hears both others, on a cable each.
    hosts_on ring{{{{1, 0}, {2, 0}}, {{2, 1}, {3, 0}}, {{3, 1}, {1, 1}}}, 3};
    ring.settle();
    EXPECT_EQ(ring.planned(1).planes, ring.planned(2).planes);
    EXPECT_EQ(ring.planned(3).planes, ring.planned(2).planes);
    // In a row the ends do not.
    hosts_on row{{{{1, 0}, {2, 0}}, {{2, 1}, {3, 0}}}, 3};
    row.settle();
    EXPECT_EQ(row.planned(1).planes.size(), 2U);
    EXPECT_EQ(row.planned(1).planes, row.planned(3).planes);
    EXPECT_EQ(row.refusal(1), "");
    EXPECT_EQ(row.planned(1).peers_of(1), std::vector<std::uint64_t>{2});
}

TEST(plan, two_ports_on_one_network_are_one_plane_and_named)
{
    hosts_on two{{{{1, 0}, {1, 1}, {2, 0}, {2, 1}}}, 2};
    two.settle();
    EXPECT_EQ(two.planned(1).planes.size(), 1U);
    EXPECT_EQ(two.planned(2).port_on(0, 2)->port, 0);
    EXPECT_EQ(two.refusal(1), "");
    ASSERT_EQ(two.remarks(1).size(), 1U);
    EXPECT_NE(two.remarks(1)[0].find("eth1 is on one network with eth0"), std::string::npos);
}

TEST(plan, who_is_heard_but_does_not_hear_is_named)
{
    hosts_on two{{{{1, 0}, {2, 0}}, {{1, 1}, {2, 1}}}, 2};
    two.blocked = {{{1, 1}, {2, 1}}};
    two.settle();
    EXPECT_EQ(two.planned(1).planes.size(), 1U);
    EXPECT_EQ(two.refusal(1), "");
    ASSERT_EQ(two.remarks(1).size(), 1U);
    EXPECT_NE(two.remarks(1)[0].find("h2 on eth1 is heard and does not hear this host"), std::string::npos);
    two.blocked = {{{1, 1}, {2, 1}}, {{1, 0}, {2, 0}}};
    two.hosts = hosts_on{{}, 2}.hosts;
    two.settle();
    EXPECT_NE(two.refusal(1).find("h2 is heard and does not hear this host"), std::string::npos);
    EXPECT_NE(two.refusal(2).find("nobody was heard"), std::string::npos);
}

TEST(plan, a_host_that_only_others_hear_is_refused_and_breaks_nothing)
{
    hosts_on three{{{{1, 0}, {2, 1}, {3, 1}}}, 3};
    three.blocked = {{{3, 1}, {1, 0}}, {{1, 0}, {3, 1}}};
    three.settle();
    EXPECT_EQ(three.planned(1).peers_of(1).size(), 2U);
    EXPECT_NE(three.refusal(1).find("a host that is not heard here sees other planes"), std::string::npos);
    EXPECT_FALSE(three.remarks(1).empty());
}

TEST(plan, a_stranger_that_is_no_peer_adds_no_planes)
{
    hosts_on two{{{{1, 0}, {2, 0}}, {{1, 1}, {2, 1}}}, 2};
    two.settle();
    const plan before = two.planned(1);
    hello stranger{.host = 9, .run = 9, .plan = 9, .port = 0, .ports = 2, .name = "mallory", .heard = {}};
    stranger.heard = {{.from = {.host = 8, .port = 0}, .by = 1}}; // and it does not say that it hears this host
    take_hello(two.hosts[1], stranger, 0);
    EXPECT_EQ(two.planned(1).planes, before.planes);
    EXPECT_EQ(two.planned(1).digest, before.digest);
    EXPECT_EQ(two.refusal(1), "");
    EXPECT_NE(two.remarks(1)[0].find("mallory on eth0 is heard"), std::string::npos) << "but it is named";
}

TEST(plan, is_refused_while_peers_see_other_planes)
{
    hosts_on two{{{{1, 0}, {2, 0}}}, 2};
    two.settle();
    two.cabling.push_back({{1, 1}, {2, 1}});
    two.say({.host = 1, .port = 1});
    two.say({.host = 2, .port = 1});
    EXPECT_NE(two.refusal(1).find("h2 sees other planes"), std::string::npos);
    two.settle();
    EXPECT_EQ(two.refusal(1), "");
}

TEST(plan, hosts_of_one_identity_are_noticed_by_themselves_and_by_others)
{
    hosts_on three{{{{1, 0}, {2, 0}, {3, 0}}}, 3};
    three.settle();
    hello copy = three.hosts[2].own;
    copy.run = 999;
    take_hello(three.hosts[2], copy, 0);
    EXPECT_NE(three.refusal(2).find("another host has this one's identity"), std::string::npos);
    take_hello(three.hosts[1], copy, 0);
    three.settle();
    EXPECT_NE(three.refusal(1).find("two hosts have the identity of h2"), std::string::npos);
}

TEST(plan, a_host_that_starts_again_is_no_second_one)
{
    hosts_on two{{{{1, 0}, {2, 0}}}, 2};
    two.settle();
    two.hosts[2] = hosts_on{{}, 2}.hosts[2];
    two.hosts[2].own.run = 999;
    two.settle();
    EXPECT_EQ(two.refusal(1), "");
}

TEST(plan, strangers_fill_no_memory_and_are_named)
{
    hosts_on one{{}, 1};
    for (std::uint64_t host = 2; host < 10'000; ++host)
        take_hello(one.hosts[1],
                   {.host = host, .run = host, .plan = 0, .port = 0, .ports = 1, .name = "x", .heard = {}}, 0);
    EXPECT_EQ(one.hosts[1].hosts.size(), most_hosts);
    EXPECT_LE(one.hosts[1].own.heard.size(), most_links);
    for (std::uint64_t run = 0; run < 10'000; ++run)
        take_hello(one.hosts[1], {.host = 2, .run = run, .plan = 0, .port = 0, .ports = 1, .name = "x", .heard = {}},
                   0);
    EXPECT_LE(one.hosts[1].runs[2].size(), 16U);
    EXPECT_FALSE(one.refusal(1).empty());
}

} // namespace
} // namespace mrc::setup
