// SPDX-License-Identifier: Apache-2.0
#include "service/srv6_fabric.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

using protocol::plane_index;

daemon_config config_of(const fabric_options &options, host_place self)
{
    daemon_config config;
    config.fabric = options;
    config.host.leaf = self.leaf;
    config.host.downlink = self.downlink;
    return config;
}

// The lab of 4 planes, 2 leaves and 2 spines, seen from h2: leaf 0, downlink 1.
srv6_fabric lab()
{
    fabric_options options;
    options.planes = 4;
    options.leaves = 2;
    options.uplinks = 2;
    return srv6_fabric{config_of(options, {.leaf = 0, .downlink = 1})};
}

// 8 planes, 512 leaves of 256 hosts: 131,072 endpoints.
srv6_fabric cluster()
{
    fabric_options options;
    options.planes = 8;
    options.leaves = 512;
    options.uplinks = 256;
    return srv6_fabric{config_of(options, {.leaf = 300, .downlink = 17})};
}

srv6_fabric lab_with(std::string_view ipv4_prefix)
{
    fabric_options options;
    options.planes = 4;
    options.leaves = 2;
    options.uplinks = 2;
    options.ipv4_prefix = parse_prefix(ipv4_prefix);
    return srv6_fabric{config_of(options, {.leaf = 0, .downlink = 1})};
}

mrc_ip ip(std::string_view text)
{
    const auto address = parse_ip(text);
    EXPECT_TRUE(address) << text;
    return address.value_or(mrc_ip{});
}

std::string carrier_text(const mrc_path_row &path)
{
    return to_text(path.carrier);
}

// The destination as the transmit engines build it, to the host with this uSID on plane 0.
std::string destination_text(const mrc_path_row &path, std::uint16_t host_usid)
{
    return to_text(mrc_path_destination(&path, host_usid));
}

TEST(fabric, addresses_of_endpoints)
{
    const auto f = lab();
    EXPECT_EQ(to_text(f.address_of({.leaf = 0, .downlink = 0})), "fd6d:7263::1");
    EXPECT_EQ(to_text(f.address_of({.leaf = 1, .downlink = 1})), "fd6d:7263::1:2");
    EXPECT_EQ(to_text(f.address_of({.leaf = 0, .downlink = 0}, plane_index{0}).value()), "fd6d:7263:0:1::1");
    EXPECT_EQ(to_text(f.address_of({.leaf = 1, .downlink = 1}, plane_index{3}).value()), "fd6d:7263:0:4::1:2");
    EXPECT_EQ(to_text(cluster().address_of({.leaf = 511, .downlink = 255}, plane_index{7}).value()),
              "fd6d:7263:0:8::1ff:100");
}

TEST(fabric, endpoints_of_addresses)
{
    const auto f = lab();
    EXPECT_EQ(f.host_of(ip("fd6d:7263::1:2")), (host_place{.leaf = 1, .downlink = 1}));
    EXPECT_EQ(f.host_of(ip("fd6d:7263:0:4::1:2")), (host_place{.leaf = 1, .downlink = 1}));
    EXPECT_EQ(f.plane_of(ip("fd6d:7263:0:4::1:2")), plane_index{3});
    EXPECT_EQ(f.plane_of(ip("fd6d:7263::1:2")), std::nullopt);
    for (const auto *foreign :
         {"fd6d:7263::", "fd6d:7263::1:0", "fd6d:7263::2:1", "fd6d:7263::1:101", "fd6d:7263:0:5::1:2", "fd6d:7264::1:2",
          "fd6d:7263::1:0:1:2", "fd6d:7263:1::1:2", "fe80::1", "10.0.0.1"}) {
        EXPECT_EQ(f.host_of(ip(foreign)), std::nullopt) << foreign;
        EXPECT_EQ(f.plane_of(ip(foreign)), std::nullopt) << foreign;
    }
}

TEST(fabric, ipv4_addresses_of_endpoints_and_back)
{
    const auto f = lab_with("10.128.0.0/12");
    EXPECT_EQ(to_text(f.address4_of({.leaf = 0, .downlink = 0}).value()), "10.128.0.1");
    EXPECT_EQ(to_text(f.address4_of({.leaf = 1, .downlink = 1}).value()), "10.128.2.2");
    EXPECT_EQ(to_text(f.address4_of({.leaf = 1, .downlink = 255}).value()), "10.128.3.0");
    EXPECT_EQ(f.host_of(ip("10.128.2.2")), (host_place{.leaf = 1, .downlink = 1}));
    EXPECT_EQ(f.host_of(ip("10.128.3.0")), (host_place{.leaf = 1, .downlink = 255}));
    EXPECT_EQ(f.plane_of(ip("10.128.2.2")), std::nullopt);
    EXPECT_EQ(f.host_of(ip("fd6d:7263::1:2")), (host_place{.leaf = 1, .downlink = 1})) << "IPv6 as before";
    for (const auto *foreign : {"10.128.0.0", "10.128.2.0", "10.128.3.1", "10.128.4.1", "10.144.0.1", "10.0.0.1"})
        EXPECT_EQ(f.host_of(ip(foreign)), std::nullopt) << foreign;
    EXPECT_EQ(f.ev_bits(), 16U) << "what IPv4 packets carry";
}

TEST(fabric, without_a_prefix_there_is_no_ipv4)
{
    const auto f = lab();
    EXPECT_EQ(f.address4_of({.leaf = 0, .downlink = 0}), std::nullopt);
    EXPECT_EQ(f.host_of(ip("10.128.0.1")), std::nullopt);
    EXPECT_EQ(f.ev_bits(), 32U);
}

TEST(fabric, bits_that_ipv4_addresses_need)
{
    const auto needed = [](std::uint32_t leaves, std::uint32_t hosts_per_leaf) {
        fabric_options options;
        options.leaves = leaves;
        options.hosts_per_leaf = hosts_per_leaf;
        return srv6_fabric::ipv4_host_bits(options);
    };
    EXPECT_EQ(needed(1, 1), 1U);
    EXPECT_EQ(needed(1, 2), 2U);
    EXPECT_EQ(needed(1, 256), 9U);
    EXPECT_EQ(needed(2, 1), 10U);
    EXPECT_EQ(needed(512, 256), 18U);
    EXPECT_EQ(needed(max_leaves, max_downlinks), 20U);
}

TEST(fabric, outer_destinations)
{
    EXPECT_EQ(to_text(lab().outer_destination(plane_index{2})), "fcbb:bb00:8201::");
    EXPECT_EQ(to_text(cluster().outer_destination(plane_index{7})), "fcbb:bb00:8711::");
}

TEST(fabric, paths_to_another_leaf)
{
    const auto f = lab();
    const path_group_rows group{.leaf = 1, .base = 1, .planes = 4, .uplinks = f.uplinks_to(1)};
    const auto paths = f.paths_of(group);
    ASSERT_EQ(paths.size(), 8U);
    EXPECT_EQ(carrier_text(paths[0]), "fcbb:bb00:2000:1000:2001::");
    EXPECT_EQ(carrier_text(paths[1]), "fcbb:bb00:2000:1001:2001::");
    EXPECT_EQ(carrier_text(paths[7]), "fcbb:bb00:2300:1301:2301:300::");
    EXPECT_EQ(paths[7].host_usid_at, 10);
    EXPECT_EQ(paths[7].plane, 3);
    EXPECT_EQ(paths[7].port, 3);
    EXPECT_EQ(paths[7].uplink, 1);
    EXPECT_EQ(paths[7].group, 1U);
    EXPECT_EQ(paths[7].state, MRC_PATH_GOOD);
    EXPECT_EQ(destination_text(paths[7], f.host_usid({.leaf = 1, .downlink = 2})), "fcbb:bb00:2300:1301:2301:8302::");
}

// By default the port's address; else as many as there are, in turn.
TEST(fabric, paths_have_outer_sources_by_uplink)
{
    fabric_options options;
    options.planes = 2;
    options.leaves = 2;
    options.uplinks = 8;
    daemon_config config = config_of(options, {.leaf = 0, .downlink = 1});
    const auto sources = [&] {
        const srv6_fabric f{config};
        std::vector<unsigned> of;
        for (const mrc_path_row &path : f.paths_of({.leaf = 1, .base = 1, .planes = 2, .uplinks = f.uplinks_to(1)}))
            of.push_back(path.source);
        return of;
    };
    EXPECT_EQ(sources(), std::vector(16, 0U));
    config.transmit.outer_sources = 3;
    EXPECT_EQ(sources(), (std::vector{0U, 1U, 2U, 0U, 1U, 2U, 0U, 1U, 0U, 1U, 2U, 0U, 1U, 2U, 0U, 1U}));
    config.transmit.outer_sources = 256;
    EXPECT_EQ(sources(), (std::vector{0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U}));
}

// No host has an address of its own with such a mark, and receivers look at no outer source.
TEST(fabric, marked_sources_are_in_the_ports_prefix_and_nobodys_address)
{
    fabric_options options;
    options.planes = 8;
    options.leaves = 512;
    options.uplinks = 256;
    options.hosts_per_leaf = 256;
    const srv6_fabric f{config_of(options, {.leaf = 300, .downlink = 17})};
    const auto own = f.address_of({.leaf = 300, .downlink = 17}, plane_index{7});
    mrc_path_row path{};
    for (unsigned source = 1; source < 256; ++source) {
        mrc_ip marked = *own;
        path.source = static_cast<__u8>(source);
        mrc_mark_source(&marked, &path);
        EXPECT_TRUE(std::equal(marked.bytes, marked.bytes + 8, own->bytes));
        EXPECT_FALSE(is_same(marked, *own));
        EXPECT_FALSE(f.host_of(marked)) << to_text(marked);
    }
}

TEST(fabric, paths_on_the_same_leaf)
{
    const auto f = lab();
    const path_group_rows group{.leaf = 0, .base = 1, .planes = 4, .uplinks = f.uplinks_to(0)};
    const auto paths = f.paths_of(group);
    ASSERT_EQ(paths.size(), 4U);
    EXPECT_EQ(carrier_text(paths[2]), "fcbb:bb00:2200:200::");
    EXPECT_EQ(paths[2].host_usid_at, 6);
    EXPECT_EQ(paths[2].plane, 2);
    EXPECT_EQ(paths[2].uplink, 0);
    EXPECT_EQ(destination_text(paths[2], f.host_usid({.leaf = 0, .downlink = 0})), "fcbb:bb00:2200:8200::");
}

srv6_fabric cluster_with_paths(std::uint32_t leaf, std::uint32_t paths)
{
    fabric_options options;
    options.planes = 8;
    options.leaves = 512;
    options.uplinks = 256;
    options.paths = paths;
    return srv6_fabric{config_of(options, {.leaf = leaf, .downlink = 0})};
}

TEST(fabric, a_few_uplinks_are_the_same_ones_both_ways)
{
    constexpr std::uint32_t paths = 32;
    const auto here = cluster_with_paths(300, paths);
    EXPECT_EQ(here.uplinks_to(300), 1U);
    EXPECT_EQ(here.uplinks_to(7), paths);
    EXPECT_TRUE(here.chooses_uplinks_to(7));
    EXPECT_FALSE(here.chooses_uplinks_to(300));
    EXPECT_FALSE(cluster_with_paths(300, 256).chooses_uplinks_to(7));
    for (std::uint32_t leaf = 0; leaf < 300; ++leaf) {
        const auto there = cluster_with_paths(leaf, paths);
        const path_group_rows out{.leaf = leaf, .base = 1, .planes = 8, .uplinks = paths};
        const path_group_rows back{.leaf = 300, .base = 1, .planes = 8, .uplinks = paths};
        for (std::uint8_t plane = 0; plane < 8; ++plane)
            for (std::uint32_t row = 0; row < paths; ++row) {
                const std::uint32_t uplink = here.uplink_of(out, plane_index{plane}, row);
                ASSERT_LT(uplink, 256U);
                ASSERT_EQ(uplink % paths, row) << "or a packet's row would not follow from its EV";
                ASSERT_EQ(uplink, there.uplink_of(back, plane_index{plane}, row));
            }
    }
}

// Each of 256 spines is on 64 of 512 leaves' lists, give or take.
TEST(fabric, a_few_uplinks_of_each_leaf_are_all_of_the_fabric)
{
    const auto here = cluster_with_paths(0, 32);
    for (std::uint8_t plane = 0; plane < 8; ++plane) {
        std::vector<unsigned> leaves(256);
        for (std::uint32_t leaf = 1; leaf < 512; ++leaf)
            for (const auto &path : here.paths_of({.leaf = leaf, .base = 1, .planes = 8, .uplinks = 32}))
                if (path.plane == plane)
                    ++leaves[path.uplink];
        EXPECT_GT(*std::ranges::min_element(leaves), 32U);
        EXPECT_LT(*std::ranges::max_element(leaves), 96U);
    }
}

TEST(fabric, each_row_has_an_ev_that_selects_it)
{
    const auto f = cluster();
    std::set<std::uint32_t> evs;
    for (const auto &path : f.paths_of({.leaf = 0, .base = 1, .planes = 8, .uplinks = 256})) {
        EXPECT_NE(path.ev, 0U);
        EXPECT_EQ(mrc_ev_plane(path.ev), path.plane);
        EXPECT_EQ(mrc_ev_uplink(path.ev), path.uplink);
        evs.insert(path.ev);
    }
    EXPECT_EQ(evs.size(), 2048U);
}

// 131,072 endpoints, all different, and each found again from its address.
TEST(fabric, every_endpoint_of_a_cluster_has_an_address_of_its_own)
{
    const auto f = cluster();
    for (std::uint32_t leaf = 0; leaf < 512; leaf++)
        for (std::uint32_t downlink = 0; downlink < 256; downlink++) {
            const host_place host{.leaf = leaf, .downlink = downlink};
            ASSERT_EQ(f.host_of(f.address_of(host)), host);
            const plane_index on{static_cast<std::uint8_t>(downlink % 8)};
            const mrc_ip on_plane = f.address_of(host, on).value_or(mrc_ip{});
            ASSERT_EQ(f.host_of(on_plane), host);
            ASSERT_EQ(f.plane_of(on_plane), on);
        }
}

TEST(fabric, every_endpoint_of_the_largest_fabric_has_an_ipv4_address_of_its_own)
{
    fabric_options options;
    options.leaves = max_leaves;
    options.ipv4_prefix = parse_prefix("172.16.0.0/12");
    const srv6_fabric f{config_of(options, {})};
    for (std::uint32_t leaf = 0; leaf < max_leaves; leaf++)
        for (std::uint32_t downlink = 0; downlink < max_downlinks; downlink++) {
            const host_place host{.leaf = leaf, .downlink = downlink};
            ASSERT_EQ(f.host_of(f.address4_of(host).value_or(mrc_ip{})), host);
        }
}

TEST(fabric, an_address_speaks_for_itself_alone)
{
    const auto f = lab_with("10.128.0.0/12");
    std::set<unsigned> speakers;
    for (const mrc_ip &address : f.addresses_of({.leaf = 1, .downlink = 1}))
        speakers.insert(f.speaker_of(address));
    EXPECT_EQ(speakers.size(), 6U) << "common, IPv4 and four planes";
    for (const mrc_ip &source : f.sources_of(ip("fd6d:7263:0:4::1:2")))
        EXPECT_EQ(to_text(source), "fd6d:7263::1:2");
    for (const mrc_ip &source : f.sources_of(ip("10.128.2.2")))
        EXPECT_EQ(to_text(source), "10.128.2.2");
}

} // namespace
} // namespace mrc::service
