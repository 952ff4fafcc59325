// SPDX-License-Identifier: Apache-2.0
#include "service/peer_names.h"

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

daemon_config config_with(const std::string &names_of_b_and_c)
{
    const auto config = parse_config("fabric.mode = \"direct\"\nport = [{device = \"p0\", plane = 0, "
                                     "address = \"fd00::1\"}]\nfabric.hosts_file = \"/h\"\npeer = [\n"
                                     "{addresses = [\"fd00::1\"]},\n" +
                                         names_of_b_and_c + "]\n",
                                     "mrcd.toml");
    EXPECT_TRUE(config) << config.error().text();
    return config ? *config : daemon_config{};
}

const std::string b_named = "{name = \"b\", address = \"fd01::2\", addresses = [\"fd00::2\"]},\n"
                            "{address = \"fd01::3\", addresses = [\"fd00::3\"]},\n";

peer_names names_of(const std::string &file_text, const std::string &rows = b_named)
{
    daemon_config config = config_with(rows);
    config.ports[0].own_address = config.ports[0].address; // as found on the device
    return names_of_peers(config, *make_fabric_rules(config), file_text);
}

using hosts = std::vector<session::named_host>;
const session::named_host b{.address = "fd01::2", .name = "b", .known_by = "configuration"};

TEST(peer_names, of_the_configuration_go_by_the_common_address)
{
    EXPECT_EQ(names_of("").hosts, hosts{b});
    EXPECT_EQ(names_of("", "{name = \"x\", addresses = [\"fd00::2\"]}").hosts,
              (hosts{{.address = "fd00::2", .name = "x", .known_by = "configuration"}}));
}

TEST(peer_names, of_a_file_are_those_of_other_hosts_of_the_fabric)
{
    const peer_names found = names_of("127.0.0.1 localhost\nfd00::1 own\n10.0.0.1 far\nfd01::3  c c.example # mine\n"
                                      "nonsense\n#fd01::3 d\n");
    EXPECT_EQ(found.hosts, (hosts{b, {.address = "fd01::3", .name = "c", .known_by = "file"}}));
    EXPECT_TRUE(found.refused.empty());
}

TEST(peer_names, no_file_changes_a_peer_that_is_known)
{
    const peer_names found = names_of("fd01::2 other\nfd01::3 B\nfd00::3 under_score\nfd01::2 b\n");
    EXPECT_EQ(found.hosts, hosts{b});
    ASSERT_EQ(found.refused.size(), 3U);
    EXPECT_EQ(found.refused[0], "/h:1: fd01::2 is not named 'other': it is 'b'");
    EXPECT_EQ(found.refused[1], "/h:2: fd01::3 is not named 'B': fd01::2 is");
    EXPECT_EQ(found.refused[2], "/h:3: fd00::3 is not named 'under_score': it is no host name");
}

TEST(peer_names, a_file_brings_no_bytes_of_its_own_to_the_log)
{
    const peer_names found = names_of("fd01::3 c\x1b[31m\n" + ("fd01::3 " + std::string(5000, 'x')) + "\n");
    ASSERT_EQ(found.refused.size(), 2U);
    EXPECT_EQ(found.refused[0], "/h:1: fd01::3 is not named 'c?[31m': it is no host name");
    EXPECT_LT(found.refused[1].size(), 400U);
}

TEST(peer_names, a_name_is_of_one_host)
{
    const auto twice =
        parse_config("fabric.mode = \"direct\"\nport = [{device = \"p0\", plane = 0}]\npeer = [\n"
                     "{name = \"b\", addresses = [\"fd00::2\"]}, {name = \"B\", addresses = [\"fd00::3\"]}]",
                     "mrcd.toml");
    ASSERT_FALSE(twice);
    EXPECT_TRUE(twice.error().text().contains("peer[1].name: found \"B\", which peer[0].name has already"))
        << twice.error().text();
}

} // namespace
} // namespace mrc::service
