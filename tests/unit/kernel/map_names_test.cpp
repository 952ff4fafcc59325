// SPDX-License-Identifier: Apache-2.0
// Every enumerator of mrc/abi/maps.h that tools show has its own word, in the order of the header.
#include "kernel/map_names.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/trace_event.h"

namespace mrc::datapath
{
namespace
{

// Names of an enum in the header's text, which is what a reader of `bpftool map dump` has.
std::vector<std::string> enumerators(const std::string &name)
{
    std::ifstream file{MRC_SOURCE_DIR "/include/mrc/abi/maps.h"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const auto begin = text.find("enum " + name + " {");
    if (begin == std::string::npos)
        return {};
    const std::string body = std::regex_replace(text.substr(begin, text.find("\n}", begin) - begin),
                                                std::regex{R"(/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)"}, "");
    const std::regex word{R"(\b(MRC_\w+)\s*,?)"};
    std::vector<std::string> found;
    for (std::sregex_iterator at{body.begin(), body.end(), word}, end; at != end; ++at)
        if (!(*at)[1].str().ends_with("_COUNT") && (*at)[1] != "MRC_EVENT_CLASSES")
            found.push_back((*at)[1]);
    return found;
}

std::string small(std::string text)
{
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

TEST(map_names, verdicts_are_those_of_the_header_in_its_order)
{
    const auto header = enumerators("mrc_verdict");
    ASSERT_EQ(header.size(), kernel::verdict_names.size());
    for (std::size_t i = 0; i < header.size(); ++i)
        EXPECT_EQ(kernel::verdict_names[i], small(header[i].substr(4)));
}

TEST(map_names, a_verdict_of_each_group)
{
    EXPECT_EQ(kernel::verdict_names[MRC_RX_STEERED], "rx_steered");
    EXPECT_EQ(kernel::verdict_names[MRC_PUSH_SENT], "push_sent");
    EXPECT_EQ(kernel::verdict_names[MRC_TX_PUSHED], "tx_pushed");
    EXPECT_EQ(kernel::verdict_names[MRC_SW_FORWARDED], "sw_forwarded");
    EXPECT_EQ(kernel::verdict_names[MRC_AGENT_DROP_NO_PORT], "agent_drop_no_port");
    EXPECT_EQ(kernel::verdict_group(MRC_AGENT_DROP_NO_PORT), "agent");
    EXPECT_EQ(kernel::name_in_group(MRC_AGENT_DROP_NO_PORT), "drop_no_port");
}

TEST(map_names, drops_are_distinguished_from_what_went_on)
{
    EXPECT_TRUE(kernel::is_drop(MRC_RX_DROP_NO_SOCKET));
    EXPECT_TRUE(kernel::is_drop(MRC_PUSH_NO_PORT));
    EXPECT_TRUE(kernel::is_drop(MRC_SW_IMPAIR_LOSS));
    EXPECT_FALSE(kernel::is_drop(MRC_RX_PASS_NOT_OURS));
    EXPECT_FALSE(kernel::is_drop(MRC_PUSH_EMPTY));
    EXPECT_FALSE(kernel::is_drop(MRC_SW_TRIMMED));
    EXPECT_FALSE(kernel::is_drop(MRC_AGENT_ACCEPTED));
    EXPECT_FALSE(kernel::is_drop(MRC_AGENT_LOCAL));
}

// Each is its enumerator behind the prefix, in small letters.
template <std::size_t Count>
void expect_names(const std::string &name, const std::string &prefix, const std::array<std::string_view, Count> &names)
{
    const auto header = enumerators(name);
    ASSERT_EQ(header.size(), names.size()) << name;
    for (std::size_t i = 0; i < header.size(); ++i)
        EXPECT_EQ(names[i], small(header[i].substr(prefix.size()))) << name;
}

TEST(map_names, path_states_are_those_of_the_header)
{
    expect_names("mrc_path_state", "MRC_PATH_", kernel::path_state_names);
}

TEST(map_names, ways_of_ports_are_those_of_the_header)
{
    expect_names("mrc_xdp_mode", "MRC_XDP_", kernel::xdp_mode_names);
    expect_names("mrc_engine", "MRC_ENGINE_", kernel::engine_names);
}

TEST(map_names, classes_kinds_and_reasons_of_events_are_those_of_the_header)
{
    expect_names("mrc_event_class", "MRC_EVENTS_OF_", kernel::event_class_names);
    expect_names("mrc_event_kind", "MRC_EVENT_", kernel::event_kind_names);
    expect_names("mrc_event_reason", "MRC_REASON_", kernel::event_reason_names);
}

TEST(map_names, kinds_and_reasons_of_trace_events_are_in_the_document)
{
    std::ifstream file{MRC_SOURCE_DIR "/docs/trace.md"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    for (const std::string_view kind : std::span{protocol::trace_kind_names}.subspan(1))
        EXPECT_NE(text.find("`" + std::string{kind} + "`"), std::string::npos) << kind;
    for (const std::string_view reason : std::span{protocol::trace_reason_names}.subspan(1))
        EXPECT_NE(text.find("`" + std::string{reason} + "`"), std::string::npos) << reason;
}

TEST(map_names, states_and_faults_of_links_are_those_of_the_header)
{
    expect_names("mrc_link_state", "MRC_LINK_", kernel::link_state_names);
    expect_names("mrc_link_blame", "MRC_BLAME_", kernel::link_blame_names);
}

TEST(map_names, every_reason_of_a_port_has_a_name_of_its_own)
{
    EXPECT_EQ(kernel::port_reason_names[MRC_PORT_IN_USE], "");
    EXPECT_EQ(kernel::port_reason_names[MRC_PORT_MISSING], "missing");
    EXPECT_EQ(kernel::port_reason_names[MRC_PORT_DOWN], "down");
    EXPECT_EQ(kernel::port_reason_names[MRC_PORT_NO_CARRIER], "no carrier");
    EXPECT_EQ(kernel::port_reason_names[MRC_PORT_NO_NEIGHBOUR], "no_neighbour");
    EXPECT_EQ(kernel::port_reason_names[MRC_PORT_SEVERAL_NEIGHBOURS], "several neighbours");
    EXPECT_EQ(kernel::port_reason_names[MRC_PORT_REPLACED], "replaced");
    EXPECT_EQ(kernel::port_reason_names[MRC_PORT_SMALL_MTU], "mtu too small");
}

} // namespace
} // namespace mrc::datapath
