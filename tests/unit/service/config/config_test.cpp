// SPDX-License-Identifier: Apache-2.0
#include "service/config/config.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

// As scripts/mrc-lab writes it.
const std::string lab_file = R"([daemon]
instance = "lab1-h0"

[host]
address = "fd6d:7263::1:3"
leaf = 1
downlink = 2

[fabric]
usid_block = "fcbb:bb00::/32"
planes = 4
leaves = 2
uplinks = 2
address_prefix = "fd6d:7263::/32"

[[port]]
device = "p0"
plane = 0
gateway = "fe80::1"

[[port]]
device = "p1"
plane = 1
gateway = "02:21:00:00:01:07"

[transmit]
engine = "auto"
)";

std::string with(std::string text, std::string_view from, std::string_view to)
{
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

std::string error_of(const std::string &text)
{
    const auto config = parse_config(text, "mrcd.toml");
    return config ? "accepted" : config.error().text();
}

TEST(config, reads_what_the_lab_writes)
{
    const auto config = parse_config(lab_file, "mrcd.toml");
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(config->daemon.instance, "lab1-h0");
    EXPECT_EQ(config->daemon.socket, "/run/mrc/lab1-h0/mrcd.sock");
    EXPECT_EQ(config->daemon.pin_dir, "/sys/fs/bpf/mrc/lab1-h0");
    EXPECT_EQ(config->daemon.state_dir, "/var/lib/mrc/lab1-h0");
    EXPECT_EQ(to_text(config->host.address), "fd6d:7263::1:3");
    EXPECT_EQ(config->host.leaf, 1U);
    EXPECT_EQ(config->host.downlink, 2U);
    EXPECT_EQ(config->fabric.planes, 4U);
    EXPECT_EQ(config->fabric.uplinks, 2U);
    EXPECT_EQ(to_text(config->fabric.usids.block), "fcbb:bb00::/32");
    ASSERT_EQ(config->ports.size(), 2U);
    EXPECT_EQ(config->ports[0].device, "p0");
    EXPECT_EQ(to_text(std::get<mrc_ip>(config->ports[0].gateway)), "fe80::1");
    EXPECT_EQ(config->ports[1].plane, protocol::plane_index{1});
    EXPECT_EQ(to_text(std::get<mac_address>(config->ports[1].gateway)), "02:21:00:00:01:07");
    EXPECT_EQ(config->transmit.engine, engine_kind::automatic);
    EXPECT_EQ(config->transmit.burst, 64U);
    EXPECT_FALSE(config->transmit.payload);
}

TEST(config, reads_every_kind_of_value)
{
    const auto text = with(lab_file, "engine = \"auto\"", R"(engine = "af_xdp"
payload = 1024
spin_us = 0

[transport]
window_bytes = 65536
trim_nack = false

[wire]
udp_port = 4971
oor = "silent"
dscp_control = 48

[peer_defaults]
payload = "verbs")");
    const auto config =
        parse_config(with(text, "gateway = \"fe80::1\"", "gateway = \"auto\"\nmode = \"native\"\nqueues = 2"), "f");
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(config->transmit.engine, engine_kind::af_xdp);
    EXPECT_EQ(config->transmit.payload, 1024U);
    EXPECT_EQ(config->transmit.spin_us, 0U);
    EXPECT_EQ(config->transport.window_bytes, 65536U);
    EXPECT_FALSE(config->transport.trim_nack);
    EXPECT_EQ(config->wire.udp_port, 4971U);
    EXPECT_EQ(config->wire.oor, out_of_range::silent);
    EXPECT_EQ(config->wire.dscp.control, 48U);
    EXPECT_EQ(config->peers.payload, payload_sizes::verbs);
    EXPECT_TRUE(std::holds_alternative<automatic_gateway>(config->ports[0].gateway));
    EXPECT_EQ(config->ports[0].mode, attach_mode::native);
    EXPECT_EQ(config->ports[0].queues, 2U);
}

TEST(config, address_follows_from_leaf_and_downlink)
{
    const auto config = parse_config(with(lab_file, "address = \"fd6d:7263::1:3\"\n", ""), "mrcd.toml");
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(to_text(config->host.address), "fd6d:7263::1:3");
}

TEST(config, ipv4_is_off_unless_a_prefix_is_given)
{
    const auto without = parse_config(lab_file, "mrcd.toml");
    ASSERT_TRUE(without) << without.error().text();
    EXPECT_FALSE(without->fabric.ipv4_prefix);
    const auto text = with(lab_file, "uplinks = 2\n", "uplinks = 2\nipv4_prefix = \"10.128.0.0/22\"\n");
    const auto config = parse_config(text, "mrcd.toml");
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(to_text(config->fabric.ipv4_prefix.value()), "10.128.0.0/22");
    const auto again = parse_config(print_config(*config), "printed");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(to_text(again->fabric.ipv4_prefix.value()), "10.128.0.0/22");
}

struct refusal {
    std::string_view what;
    std::string_view from;
    std::string_view to;
    std::string_view error;
};

// One line each: what is wrong, and the whole error.
constexpr refusal refusals[] = {
    {"syntax", "leaf = 1", "leaf = ", "mrcd.toml:6:8: no TOML: "},
    {"number out of range", "planes = 4", "planes = 9", "mrcd.toml:11:10: fabric.planes: found 9, allowed is 1 to 8"},
    {"wrong type", "planes = 4", R"(planes = "4")", R"(mrcd.toml:11:10: fabric.planes: found "4", allowed is 1 to 8)"},
    {"fraction", "planes = 4", "planes = 4.5", "mrcd.toml:11:10: fabric.planes: found 4.5, allowed is 1 to 8"},
    {"wrong word", R"(engine = "auto")", R"(engine = "dpdk")",
     R"(mrcd.toml:27:10: transmit.engine: found "dpdk", allowed is "auto", "xdp" or "af_xdp")"},
    {"step", R"(engine = "auto")", "payload = 1000",
     R"(mrcd.toml:27:11: transmit.payload: found 1000, allowed is "auto" or 256 to 4096 in steps of 64)"},
    {"mistyped key", "uplinks = 2", "uplink = 2",
     R"(mrcd.toml:13:1: fabric.uplink: unknown key; the closest known one is "uplinks")"},
    {"foreign key", R"(engine = "auto")", "colour = 1",
     "mrcd.toml:27:1: transmit.colour: unknown key; known are engine, payload, burst, "
     "ring_packets, spin_us, outer_sources, mrc_from_sockets"},
    {"mistyped table", "[transmit]", "[transmitt]",
     R"(mrcd.toml:26:2: transmitt: unknown table; the closest known one is "transmit")"},
    {"key outside of tables", "[daemon]", "planes = 4\n[daemon]", "mrcd.toml:1:1: planes: unknown key outside of "},
    {"one table too many", "[transmit]", "[[transmit]]",
     "mrcd.toml:26:3: transmit: found an array, allowed is one table [transmit]"},
    {"port as table", "[[port]]\ndevice = \"p0\"\nplane = 0\ngateway = \"fe80::1\"\n\n[[port]]", "[port]",
     "mrcd.toml:16:2: port: found a table, allowed is one [[port]] per port"},
    {"missing key", "leaves = 2\n", "", "mrcd.toml:9:2: fabric.leaves: missing; required is 1 to 1536"},
    {"missing key of a port", "device = \"p1\"\n", "", "mrcd.toml:21:1: port[1].device: missing; required is a device"},
    {"missing table", "[host]\naddress = \"fd6d:7263::1:3\"\nleaf = 1\ndownlink = 2\n", "",
     "mrcd.toml: host.leaf: missing; required is 0 to 1535"},
    {"bad prefix", "fcbb:bb00::/32", "fcbb:bb00::/40",
     R"(mrcd.toml:10:14: fabric.usid_block: found "fcbb:bb00::/40", allowed is an IPv6 prefix of length 16, 32, 48 or 64)"},
    {"bits behind the prefix", "fd6d:7263::/32", "fd6d:7263::1/32",
     R"(mrcd.toml:14:18: fabric.address_prefix: found "fd6d:7263::1/32", allowed is an IPv6 prefix of length 16 to 48)"},
    {"gateway", R"("fe80::1")", R"("fe80::1%p0")",
     R"(mrcd.toml:19:11: port[0].gateway: found "fe80::1%p0", allowed is "auto", a unicast IPv6 address or a unicast )"
     "MAC address"},
    {"multicast gateway", R"("fe80::1")", R"("ff02::1")", R"(mrcd.toml:19:11: port[0].gateway: found "ff02::1")"},
    {"group MAC", "02:21:00:00:01:07", "01:00:5e:00:00:01", R"(mrcd.toml:24:11: port[1].gateway: found "01:00:5e)"},
    {"device name", R"("p0")", R"("p/0")", R"(mrcd.toml:17:10: port[0].device: found "p/0", allowed is a device name)"},
    {"long device name", R"("p0")", R"("a123456789012345")", "mrcd.toml:17:10: port[0].device: found"},
    {"instance", "lab1-h0", "../h0", R"(mrcd.toml:2:12: daemon.instance: found "../h0", allowed is 1 to 64 of)"},
    {"leaf beyond the fabric", "leaf = 1", "leaf = 2",
     "mrcd.toml:6:1: host.leaf: found 2, allowed is 0 to 1, as fabric.leaves is 2"},
    {"downlink beyond the leaf", "uplinks = 2", "uplinks = 2\nhosts_per_leaf = 2",
     "mrcd.toml:7:1: host.downlink: found 2, allowed is 0 to 1, as fabric.hosts_per_leaf is 2"},
    {"address off the rule", "fd6d:7263::1:3", "fd6d:7263::1:2",
     "mrcd.toml:5:1: host.address: found fd6d:7263::1:2, allowed is fd6d:7263::1:3, which leaf 1 and downlink 2 give"},
    {"same plane twice", "plane = 1", "plane = 0",
     "mrcd.toml:23:1: port[1].plane: found 0, which port[0].plane has already; allowed is one port per plane"},
    {"same device twice", R"("p1")", R"("p0")",
     R"(mrcd.toml:22:1: port[1].device: found "p0", which port[0].device has already; allowed is one port per device)"},
    {"plane beyond the fabric", "plane = 1", "plane = 4",
     "mrcd.toml:23:1: port[1].plane: found 4, allowed is 0 to 3, as fabric.planes is 4"},
    {"overlapping prefixes", R"("fcbb:bb00::/32")", R"("fd6d:7263::/32")",
     "mrcd.toml:14:1: fabric.address_prefix: found fd6d:7263::/32, which overlaps fabric.usid_block fd6d:7263::/32; "
     "allowed are disjoint prefixes"},
    {"IPv6 where IPv4 is asked for", "[[port]]\ndevice = \"p0\"",
     "ipv4_prefix = \"fd00::/32\"\n[[port]]\ndevice = \"p0\"",
     "mrcd.toml:16:15: fabric.ipv4_prefix: found \"fd00::/32\", allowed is \"none\" or a unicast IPv4 prefix of length "
     "8 "
     "to 31"},
    {"multicast IPv4", "[[port]]\ndevice = \"p0\"", "ipv4_prefix = \"224.0.0.0/12\"\n[[port]]\ndevice = \"p0\"",
     "mrcd.toml:16:15: fabric.ipv4_prefix: found \"224.0.0.0/12\""},
    {"bits behind the IPv4 prefix", "[[port]]\ndevice = \"p0\"",
     "ipv4_prefix = \"10.128.0.1/12\"\n[[port]]\ndevice = \"p0\"",
     "mrcd.toml:16:15: fabric.ipv4_prefix: found \"10.128.0.1/12\""},
    {"IPv4 prefix without room", "[[port]]\ndevice = \"p0\"",
     "ipv4_prefix = \"10.128.0.0/23\"\n[[port]]\ndevice = \"p0\"",
     "mrcd.toml:16:1: fabric.ipv4_prefix: found 10.128.0.0/23, allowed is a length of at most 22, as fabric.leaves is "
     "2 "
     "and fabric.hosts_per_leaf is 256"},
    {"paths that no bits choose", "[[port]]\ndevice = \"p0\"", "paths = 3\n[[port]]\ndevice = \"p0\"",
     "mrcd.toml:16:1: fabric.paths: found 3, allowed is 2, as fabric.uplinks is 2, or a power of 2 below"},
    {"more paths than uplinks", "[[port]]\ndevice = \"p0\"", "paths = 4\n[[port]]\ndevice = \"p0\"",
     "mrcd.toml:16:1: fabric.paths: found 4, allowed is 2, as fabric.uplinks is 2, or a power of 2 below"},
    {"shared code point", "[transmit]", "[wire]\ndscp_trimmed = 4\n[transmit]",
     "mrcd.toml:27:1: wire.dscp_trimmed: found 4, the same as wire.dscp_trimmable; allowed is a code point of its own"},
    {"more kept than active", "[transmit]", "[transport]\nactive_paths_per_plane = 2\nmin_active = 3\n[transmit]",
     "mrcd.toml:28:1: transport.min_active: found 3, allowed is 1 to 2, as transport.active_paths_per_plane is 2"},
};

// Behind the lab's file, whose last line is 27.
struct profile_refusal {
    std::string_view what;
    std::string_view tables;
    std::string_view error; // empty: accepted
};
constexpr profile_refusal profile_refusals[] = {
    {"automatic", "[[ev_profile]]\nid = 1\ncount = 4\n", ""},
    {"listed", "[[ev_profile]]\nid = 1\nmode = \"listed\"\nevs = [0x800, 0x801, 0x802, 0x803]\nmin_active = 4\n", ""},
    {"generated",
     "[[ev_profile]]\nid = 1\nmode = \"generated\"\nfields = [[21, 1, 0, 0, 0], [8, 0, 0, 1, 255], [3, 0, 0, 3, 7]]\n",
     ""},
    {"constants", "[[cc_profile]]\nid = 1\neta = 5\ngamma = 0.25\nmax_cwnd = 0\n", ""},
    {"no algorithm", "[[cc_profile]]\nid = 1\nalgorithm = \"none\"\n", ""},
    {"no id", "[[ev_profile]]\n", "mrcd.toml:28:1: ev_profile[0].id: missing; required is 1 to 9223372036854775807"},
    {"id 0", "[[ev_profile]]\nid = 0\n", "mrcd.toml:29:6: ev_profile[0].id: found 0, allowed is 1 to "},
    {"one id twice", "[[cc_profile]]\nid = 7\n[[cc_profile]]\nid = 7\n",
     "mrcd.toml:31:1: cc_profile[1].id: found 7, which cc_profile[0].id has already; allowed is an id of its own"},
    {"no table", "[ev_profile]\nid = 1\n",
     "mrcd.toml:28:2: ev_profile: found a table, allowed is one [[ev_profile]] per profile"},
    {"mistyped key", "[[ev_profile]]\nid = 1\nmod = 1\n",
     R"(mrcd.toml:30:1: ev_profile[0].mod: unknown key; the closest known one is "mode")"},
    {"wrong list", "[[ev_profile]]\nid = 1\nmode = \"listed\"\nevs = [0x800, 0]\n",
     "mrcd.toml:31:7: ev_profile[0].evs: found [2048, 0], allowed is a list of numbers from 1 to 4294967295"},
    {"short row", "[[ev_profile]]\nid = 1\nmode = \"generated\"\nfields = [[21, 1]]\n",
     "mrcd.toml:31:10: ev_profile[0].fields: found a list of lists, allowed is a list of [width, init, min, max, "
     "mask]"},
    {"no such uplink", "[[ev_profile]]\nid = 1\nmode = \"listed\"\nevs = [0x810, 0x801, 0x802, 0x803]\n",
     "mrcd.toml:31:1: ev_profile[0].evs: EV 0 of the profile names uplink 2 in its bits 10:3; allowed: 0 to 1"},
    {"unequal planes", "[[ev_profile]]\nid = 1\nmode = \"listed\"\nevs = [0x800]\n",
     "mrcd.toml:31:1: ev_profile[0].evs: found count 1, allowed are multiples of 4"},
    {"no EV", "[[ev_profile]]\nid = 1\nmode = \"listed\"\n",
     "mrcd.toml:29:1: ev_profile[0].id: found count 0, allowed are 4 or"},
    {"count above paths", "[[ev_profile]]\nid = 1\ncount = 9\n",
     "mrcd.toml:30:1: ev_profile[0].count: found count 9, allowed are 8 EVs"},
    {"wrong field", "[[ev_profile]]\nid = 1\nmode = \"generated\"\nfields = [[22, 1, 0, 0, 0]]\n",
     "mrcd.toml:31:1: ev_profile[0].fields: field 0 is 22 bits wide, allowed are 1 to 21, the format's"},
    {"list of another mode", "[[ev_profile]]\nid = 1\nevs = [1]\n",
     R"(mrcd.toml:30:1: ev_profile[0].evs: allowed with mode "listed" only)"},
    {"min_active", "[[ev_profile]]\nid = 1\nmin_active = 9\n",
     "mrcd.toml:30:1: ev_profile[0].min_active: found min_active 9, allowed is 0 to 8, the count"},
    {"constant", "[[cc_profile]]\nid = 1\ngamma = 1.5\n",
     R"(mrcd.toml:30:9: cc_profile[0].gamma: found 1.5, allowed is "auto" or a number from 0 to 1)"},
    {"not a number", "[[cc_profile]]\nid = 1\ngamma = nan\n", "mrcd.toml:30:9: cc_profile[0].gamma: found nan"},
    {"window below a packet", "[[cc_profile]]\nid = 1\nmax_cwnd = 255\n",
     "mrcd.toml:30:1: cc_profile[0].max_cwnd: max_cwnd: found 255, allowed is 0 or 256 to 4294967295"},
};

TEST(config, profiles_obey_the_rules_of_controllers)
{
    for (const auto &[what, tables, error] : profile_refusals) {
        const auto found = error_of(lab_file + std::string{tables});
        EXPECT_TRUE(found.starts_with(error.empty() ? "accepted" : error)) << what << ":\n" << found << "\n" << error;
    }
}

TEST(config, profiles_are_printed_as_they_are_read)
{
    const auto config = parse_config(lab_file + "[[ev_profile]]\nid = 5\nmode = \"listed\"\nevs = [2048, 2049, 2050, "
                                                "2051]\n[[cc_profile]]\nid = 6\ngamma = 0.25\n",
                                     "mrcd.toml");
    ASSERT_TRUE(config) << config.error().text();
    const auto printed = print_config(*config);
    EXPECT_NE(printed.find("evs = [2048, 2049, 2050, 2051]  # mrcd.toml:31"), std::string::npos) << printed;
    const auto again = parse_config(printed, "printed");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->ev_profiles.at(0).evs, config->ev_profiles.at(0).evs);
    EXPECT_EQ(again->cc_profiles.at(0).gamma, 0.25F);
}

TEST(config, refuses_with_file_line_key_found_and_allowed)
{
    for (const auto &row : refusals) {
        const auto error = error_of(with(lab_file, row.from, row.to));
        EXPECT_TRUE(error.starts_with(row.error)) << row.what << ":\n" << error << "\n" << row.error;
    }
}

TEST(config, refuses_a_file_without_ports)
{
    const auto text = lab_file.substr(0, lab_file.find("[[port]]"));
    EXPECT_EQ(error_of(text), "mrcd.toml: port: missing; required is one [[port]] per port of the host");
}

TEST(config, prints_each_value_with_its_origin)
{
    const auto config = parse_config(lab_file, "mrcd.toml");
    ASSERT_TRUE(config) << config.error().text();
    const auto text = print_config(*config);
    const auto line_of = [&](std::string_view start) {
        const auto at = text.find("\n" + std::string{start});
        return at == std::string::npos ? std::string{} : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    };
    EXPECT_TRUE(line_of("instance = \"lab1-h0\"").ends_with("# mrcd.toml:2"));
    EXPECT_TRUE(line_of("socket = \"/run/mrc/lab1-h0/mrcd.sock\"").ends_with("# default"));
    EXPECT_TRUE(line_of("gateway = \"02:21:00:00:01:07\"").ends_with("# mrcd.toml:24"));
    EXPECT_TRUE(line_of("burst = 64").ends_with("# default"));
}

TEST(config, its_output_reads_back_as_the_same_configuration)
{
    const auto config = parse_config(lab_file, "mrcd.toml");
    ASSERT_TRUE(config) << config.error().text();
    const auto printed = print_config(*config);
    const auto again = parse_config(printed, "printed");
    ASSERT_TRUE(again) << again.error().text() << "\n" << printed;
    const auto without_comments = [](const std::string &text) {
        std::string values;
        for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
            values += text.substr(at, text.find_first_of("#\n", at) - at) + "\n";
        return values;
    };
    EXPECT_EQ(without_comments(printed), without_comments(print_config(*again)));
}

TEST(config, load_names_a_file_that_it_cannot_read)
{
    const auto config = load_config("/nonexistent/mrcd.toml");
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().text(), "/nonexistent/mrcd.toml: cannot read: No such file or directory");
}

TEST(config, load_names_a_directory)
{
    const auto config = load_config("/");
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().text(), "/: cannot read: Is a directory");
}

} // namespace
} // namespace mrc::service
