// SPDX-License-Identifier: Apache-2.0
#include "service/direct_fabric.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

using protocol::plane_index;

mrc_ip ip(std::string_view text)
{
    const auto address = parse_ip(text);
    EXPECT_TRUE(address) << text;
    return address.value_or(mrc_ip{});
}

host_entry host(std::optional<std::string_view> first, std::optional<std::string_view> second)
{
    const auto read = [](auto text) { return text ? std::optional{ip(*text)} : std::nullopt; };
    return {.addresses = {read(first), read(second)}};
}

// Two planes with four EVs toward each peer; the second peer is on one of them only.
daemon_config config_with(std::vector<host_entry> hosts, std::string_view own0, std::string_view own1)
{
    daemon_config config;
    config.fabric.mode = fabric_mode::direct;
    config.fabric.planes = 2;
    config.fabric.paths = 4;
    config.hosts = std::move(hosts);
    config.ports = {{.device = "p0", .plane = plane_index{0}, .gateway = {}, .own_address = ip(own0), .queues = {}},
                    {.device = "p1", .plane = plane_index{1}, .gateway = {}, .own_address = ip(own1), .queues = {}}};
    return config;
}

daemon_config usual_config()
{
    return config_with({host("fd10::2", "fd11::2"), host(std::nullopt, "fd11::3")}, "fd10::1", "fd11::1");
}

TEST(direct_fabric, hosts_are_those_of_the_list_and_this_one)
{
    const direct_fabric f{usual_config()};
    EXPECT_EQ(f.leaves(), 3U);
    EXPECT_EQ(f.self(), (host_place{.leaf = 2})) << "behind the others";
    EXPECT_EQ(f.host_of(ip("fd10::2")), (host_place{.leaf = 0}));
    EXPECT_EQ(f.host_of(ip("fd11::2")), (host_place{.leaf = 0}));
    EXPECT_EQ(f.host_of(ip("fd11::3")), (host_place{.leaf = 1}));
    EXPECT_EQ(f.host_of(ip("fd10::1")), f.self());
    EXPECT_EQ(f.host_of(ip("fd10::3")), std::nullopt);
    EXPECT_EQ(f.refusal_of(ip("fd10::3")), "fd10::3 is in no [[peer]] of mrcd's configuration");
}

TEST(direct_fabric, this_host_may_stand_in_the_list)
{
    const direct_fabric f{config_with({host("fd10::2", "fd11::2"), host("fd10::1", "fd11::1")}, "fd10::1", "fd11::1")};
    EXPECT_EQ(f.leaves(), 2U);
    EXPECT_EQ(f.self(), (host_place{.leaf = 1}));
}

TEST(direct_fabric, a_host_is_known_by_its_first_address_and_speaks_with_all)
{
    const direct_fabric f{usual_config()};
    EXPECT_EQ(to_text(f.address_of({.leaf = 0})), "fd10::2");
    EXPECT_EQ(to_text(f.address_of({.leaf = 1})), "fd11::3");
    EXPECT_EQ(f.address_of({.leaf = 1}, plane_index{0}), std::nullopt);
    EXPECT_EQ(f.addresses_of({.leaf = 0}).size(), 2U);
    EXPECT_EQ(f.speaker_of(ip("fd10::2")), f.speaker_of(ip("fd11::2")));
    const auto sources = f.sources_of(ip("fd11::2"));
    EXPECT_EQ(to_text(sources[0]), "fd10::2");
    EXPECT_EQ(to_text(sources[1]), "fd11::2");
}

TEST(direct_fabric, paths_go_to_the_peers_address_on_their_plane_each_by_an_ev)
{
    const direct_fabric f{usual_config()};
    const auto paths = f.paths_of({.leaf = 0, .base = 1, .planes = 2, .uplinks = f.uplinks_to(0)});
    ASSERT_EQ(paths.size(), 8U);
    for (std::size_t i = 0; i < paths.size(); ++i) {
        EXPECT_EQ(paths[i].kind, MRC_CARRIER_DIRECT);
        EXPECT_EQ(to_text(paths[i].carrier), i < 4 ? "fd10::2" : "fd11::2");
        EXPECT_EQ(paths[i].plane, i / 4);
        EXPECT_EQ(paths[i].port, i / 4);
        EXPECT_EQ(paths[i].uplink, i % 4);
        EXPECT_EQ(paths[i].next_hop, MRC_NEXT_HOP_ROW(0, i / 4));
        EXPECT_EQ(mrc_ev_plane(paths[i].ev), i / 4);
        EXPECT_EQ(mrc_ev_uplink(paths[i].ev), i % 4);
    }
    EXPECT_EQ(mrc_path_header_bytes(paths.data()), 14U);
    EXPECT_EQ(to_text(mrc_path_destination(&paths[4], 0x8003)), "fd11::2") << "no uSID is put in";
}

TEST(direct_fabric, hosts_with_a_common_address_have_an_overlay)
{
    daemon_config config = usual_config();
    EXPECT_TRUE(direct_fabric{config}.overlay_routes().empty());
    EXPECT_EQ(to_text(direct_fabric{config}.outer_destination(plane_index{0})), "::") << "nothing is popped";
    config.hosts[0].common = ip("fd00::2");
    EXPECT_TRUE(direct_fabric{config}.overlay_routes().empty()) << "this host has none itself";
    config.host.address = ip("fd00::1");
    const direct_fabric f{config};
    ASSERT_EQ(f.overlay_routes().size(), 1U);
    EXPECT_EQ(to_text(f.overlay_routes()[0]), "fd00::2/128");
    EXPECT_EQ(to_text(f.outer_destination(plane_index{1})), "fd11::1");
    EXPECT_EQ(to_text(f.address_of({.leaf = 0})), "fd00::2") << "by which the host is known";
    EXPECT_EQ(f.host_of(ip("fd00::2")), (host_place{.leaf = 0}));
    EXPECT_EQ(to_text(f.sources_of(ip("fd00::2"))[1]), "fd11::2") << "and from where its MRC comes";
}

TEST(direct_fabric, one_ipv4_address_leaves_16_bits_of_ev)
{
    EXPECT_EQ(direct_fabric{usual_config()}.ev_bits(), 32U);
    const direct_fabric mixed{config_with({host("10.0.0.2", "fd11::2")}, "10.0.0.1", "fd11::1")};
    EXPECT_EQ(mixed.ev_bits(), 16U);
    EXPECT_EQ(mixed.host_of(ip("10.0.0.2")), (host_place{.leaf = 0}));
}

} // namespace
} // namespace mrc::service
