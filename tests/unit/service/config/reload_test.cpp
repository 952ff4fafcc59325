// SPDX-License-Identifier: Apache-2.0
#include "service/config/reload.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "service/config/options.h"
#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

const std::string running = R"([host]
leaf = 0
downlink = 0

[fabric]
planes = 2
leaves = 2
uplinks = 2

[[port]]
device = "p0"
plane = 0

[transport]
link_gbps = 10
)";

daemon_config parsed(const std::string &text)
{
    auto config = parse_config(text, "mrcd.toml");
    EXPECT_TRUE(config) << config.error().text();
    return config ? *std::move(config) : daemon_config{};
}

std::string text_of_file(const std::string &file)
{
    std::ifstream stream{std::string{MRC_SOURCE_DIR} + file};
    return {std::istreambuf_iterator<char>{stream}, {}};
}

TEST(config_reload, nothing_to_do_for_the_same_file)
{
    daemon_config config = parsed(running);
    const auto report = reload_config(config, parsed(running));
    EXPECT_TRUE(report.changed.empty());
    EXPECT_TRUE(report.needs_restart.empty());
    EXPECT_FALSE(report.congestion_changed);
}

TEST(config_reload, what_the_daemon_has_found_is_no_change)
{
    daemon_config config = parsed(running);
    config.worker.workers = 3; // which no file says
    const auto report = reload_config(config, parsed(running));
    EXPECT_TRUE(report.needs_restart.empty());
    EXPECT_EQ(config.worker.workers, 3U);
}

TEST(config_reload, origins_are_those_of_the_values_in_force)
{
    daemon_config config = parsed(running);
    const std::uint32_t planes = config.origin.given.at("fabric.planes").line;
    std::string text = "\n" + running + "window_psns = 256\n[worker]\nworkers = 2\n";
    text.replace(text.find("planes = 2"), 10, "planes = 1");
    const auto report = reload_config(config, parsed(text));
    EXPECT_EQ(report.changed.size(), 1U);
    EXPECT_EQ(report.needs_restart.size(), 2U);
    EXPECT_EQ(config.origin.given.at("fabric.leaves").line, planes + 2) << "of the same value, where it stands now";
    EXPECT_EQ(config.origin.given.at("fabric.planes").line, planes) << "of one that stays, where it stood";
    EXPECT_TRUE(config.origin.has("transport.window_psns"));
    EXPECT_FALSE(config.origin.has("worker.workers")) << "a restart would take it";
    EXPECT_EQ(reload_config(config, parsed(text)).needs_restart.size(), 2U) << "as often as it is asked";
}

TEST(config_reload, takes_what_can_change_and_names_the_rest)
{
    daemon_config config = parsed(running);
    std::string text = running + "oor = \"silent\"\n";
    text.replace(text.find("link_gbps = 10\noor"), 18, "link_gbps = 40\n[wire]\nudp_port = 4971\noor");
    text.replace(text.find("leaves = 2"), 10, "leaves = 4");
    const auto report = reload_config(config, parsed(text));
    EXPECT_EQ(report.changed, (std::vector<std::string>{"transport.link_gbps: 10 is now 40, in new sessions",
                                                        "wire.oor: \"nack\" is now \"silent\", in new sessions"}));
    EXPECT_EQ(report.needs_restart, (std::vector<std::string>{"fabric.leaves: stays 2, 4 needs a restart",
                                                              "wire.udp_port: stays 4791, 4971 needs a restart"}));
    EXPECT_TRUE(report.congestion_changed);
    EXPECT_EQ(config.transport.link_gbps, 40U);
    EXPECT_EQ(config.wire.oor, out_of_range::silent);
    EXPECT_EQ(config.fabric.leaves, 2U);
    EXPECT_EQ(config.wire.udp_port, MRC_UDP_PORT_ROCE);
}

TEST(config_reload, ports_are_compared_one_by_one_while_there_are_as_many)
{
    daemon_config config = parsed(running);
    std::string moved = running;
    moved.replace(moved.find("plane = 0"), 9, "plane = 1");
    EXPECT_EQ(reload_config(config, parsed(moved)).needs_restart,
              std::vector<std::string>{"port[0].plane: stays 0, 1 needs a restart"});
    const auto report = reload_config(config, parsed(running + "[[port]]\ndevice = \"p1\"\nplane = 1\n"));
    EXPECT_EQ(report.needs_restart, std::vector<std::string>{"[[port]]: stays 1 times, 2 times needs a restart"});
    EXPECT_EQ(config.ports.size(), 1U);
}

TEST(config_reload, an_option_that_is_removed_falls_back_to_its_default)
{
    daemon_config config = parsed(running + "timeout = 9\n");
    EXPECT_EQ(reload_config(config, parsed(running)).changed,
              std::vector<std::string>{"transport.timeout: 9 is now 8, in new sessions"});
    EXPECT_EQ(config.transport.timeout, 8U);
}

// Between these words of the manual stand exactly the options that can change.
TEST(config_reload, the_manual_lists_what_can_change)
{
    const std::string manual = text_of_file("/docs/mrcd.8");
    const auto from = manual.find("At once:");
    const auto to = manual.find("All others need a restart");
    ASSERT_LT(from, to);
    ASSERT_NE(to, std::string::npos);
    const std::string list = manual.substr(from, to - from);
    const auto middle = list.find("In sessions that are opened afterwards:");
    ASSERT_NE(middle, std::string::npos);
    for (const auto &table : config_options().parts())
        for (const auto &option : table.content->options()) {
            const std::string name = std::string{table.key}.append(".").append(option.key);
            const auto at = std::min(list.find(name + ","), list.find(name + ".\n"));
            const auto when = when_changed(table.key, option.key);
            EXPECT_EQ(at < middle, when == takes_effect::at_once) << name;
            EXPECT_EQ(at > middle && at < list.size(), when == takes_effect::in_new_sessions) << name;
        }
}

// docs/interop.md names options as `table.key`.
TEST(config_reload, the_interoperability_notes_name_options_that_exist)
{
    const std::string notes = text_of_file("/docs/interop.md");
    std::size_t named = 0;
    for (const auto &table : config_options().parts()) {
        const std::string start = "`" + std::string{table.key} + ".";
        for (auto at = notes.find(start); at != std::string::npos; at = notes.find(start, at + 1)) {
            const std::string key = notes.substr(at + start.size(), notes.find('`', at + 1) - at - start.size());
            EXPECT_TRUE(std::ranges::count(table.content->options(), key, &options::option::key))
                << table.key << "." << key;
            ++named;
        }
    }
    EXPECT_GE(named, 10U);
}

} // namespace
} // namespace mrc::service
