// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "sim/fabric.h"

namespace mrc::sim
{
namespace
{

fabric_config two_planes()
{
    fabric_config config;
    config.planes = 2;
    config.leaves = 3;
    config.spines = 2;
    config.hosts_per_leaf = 2;
    return config;
}

TEST(topology, routes_cross_the_spine_that_they_name)
{
    const fabric topology{two_planes(), 4096};
    frame each;
    topology.set_route(each, 1, 4, 1, 0);
    ASSERT_EQ(each.hops, 4);
    EXPECT_EQ(each.route[0], topology.host_port(1, 1));
    EXPECT_EQ(each.route[1], topology.find_link("p1t0-0", "p1t1-0")->out);
    EXPECT_EQ(each.route[2], topology.find_link("p1t0-2", "p1t1-0")->back);
    EXPECT_EQ(each.route[3], topology.find_link("h4", "p1t0-2")->back);
    EXPECT_EQ(topology.host_behind(each.route[3]), 4u);
}

TEST(topology, hosts_of_one_leaf_need_no_spine)
{
    const fabric topology{two_planes(), 4096};
    frame each;
    topology.set_route(each, 2, 3, 0, 1);
    EXPECT_EQ(each.hops, 2);
    EXPECT_EQ(topology.host_behind(each.route[1]), 3u);
    EXPECT_LT(topology.base_rtt(2, 3), topology.base_rtt(2, 4));
}

TEST(topology, every_link_has_its_own_ports)
{
    const fabric topology{two_planes(), 4096};
    std::set<port_id> seen;
    const auto add = [&seen](const link_ports &link) {
        EXPECT_TRUE(seen.insert(link.out).second);
        EXPECT_TRUE(seen.insert(link.back).second);
    };
    for (const link_ports &link : topology.uplinks())
        add(link);
    for (unsigned host = 0; host < topology.hosts(); ++host)
        for (const std::vector<link_ports> links = topology.links_of("h" + std::to_string(host)).value();
             const link_ports &link : links)
            add(link);
    EXPECT_EQ(seen.size(), topology.ports.size());
    for (const link_ports &link : topology.uplinks()) {
        const fabric::uplink_name name = topology.name_of_uplink(link);
        EXPECT_EQ(topology.uplink(name.plane, name.leaf, name.spine).back, link.back);
    }
}

TEST(topology, a_switch_takes_all_its_links_with_it)
{
    const fabric topology{two_planes(), 4096};
    EXPECT_EQ(topology.links_of("p0t0-1")->size(), 4u); // two hosts, two spines
    EXPECT_EQ(topology.links_of("p0t1-1")->size(), 3u); // three leaves
}

TEST(topology, wrong_names_are_answered_with_the_right_ones)
{
    const fabric topology{two_planes(), 4096};
    EXPECT_EQ(topology.find_link("h9", "p0t0-0").error(), "h0 to h5");
    EXPECT_EQ(topology.find_link("p0t0-0", "p0t1-7").error(), "p0t1-0 to p1t1-1");
    EXPECT_NE(topology.find_link("h0", "p0t0-2").error().find("two ends of one link"), std::string::npos);
    EXPECT_NE(topology.links_of("spine").error().find("p0t0-0"), std::string::npos);
}

TEST(topology, queues_follow_the_bandwidth_delay_product)
{
    const fabric topology{two_planes(), 4096};
    const double bdp = topology.plane_bdp_bytes();
    const port_limits &spine = topology.ports[topology.find_link("p0t0-0", "p0t1-0")->out].limits();
    const port_limits &last = topology.ports[topology.find_link("h0", "p0t0-0")->back].limits();
    EXPECT_NEAR(static_cast<double>(spine.ecn_min), 0.2 * bdp, 1);
    EXPECT_NEAR(static_cast<double>(spine.ecn_max), 0.8 * bdp, 1);
    EXPECT_NEAR(static_cast<double>(spine.trim_limit), bdp, 1);
    EXPECT_NEAR(static_cast<double>(last.trim_limit), 1.5 * bdp, 1);
    EXPECT_EQ(last.ecn_max, 0u) << "no marks at the last hop";
    EXPECT_TRUE(last.last_hop);
}

} // namespace
} // namespace mrc::sim
