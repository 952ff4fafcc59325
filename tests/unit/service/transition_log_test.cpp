// SPDX-License-Identifier: Apache-2.0
#include "service/transition_log.h"

#include <vector>

#include <gtest/gtest.h>

#include "service/address.h"

namespace mrc::service
{
namespace
{

using protocol::instant;
using protocol::path_cause;
using protocol::path_state;

constexpr unsigned paths = 3;
constexpr transition_log::bundle plane_1{.profile = 0, .leaf = 4, .plane = 1};

port_options port_of_plane_1()
{
    port_options port;
    port.device = "eth1";
    port.plane = protocol::plane_index{1};
    return port;
}

struct written {
    std::vector<std::string> info;
    std::vector<std::string> debug;
    transition_log log{
        2,
        [this](log_level level, const std::string &line) { (level == log_level::info ? info : debug).push_back(line); },
        [](std::uint32_t leaf) { return "leaf " + std::to_string(leaf); }};

    void path(unsigned uplink, path_state state, path_cause cause, instant now = {})
    {
        log.on_path(plane_1, uplink, paths, {state, cause}, now);
    }
};

TEST(transition_log, prints_a_port_with_the_reason)
{
    written to;
    const port_options port = port_of_plane_1();
    to.log.on_port(port, false, "no carrier", {});
    to.log.on_port(port, true, "", {});
    EXPECT_EQ(to.info,
              (std::vector<std::string>{"port eth1 (plane 1): out of use, no carrier", "port eth1 (plane 1): usable"}));
}

TEST(transition_log, prints_a_plane_when_its_last_path_goes_and_the_first_comes_back)
{
    written to;
    to.path(0, path_state::assumed_bad, path_cause::silence);
    to.path(2, path_state::assumed_bad, path_cause::silence);
    to.path(2, path_state::assumed_bad, path_cause::silence);
    EXPECT_TRUE(to.info.empty());
    to.path(1, path_state::assumed_bad, path_cause::silence);
    to.path(2, path_state::good, path_cause::probes);
    to.path(1, path_state::good, path_cause::probes);
    EXPECT_EQ(to.info, (std::vector<std::string>{
                           "plane 1 to leaf 4 (3 paths): out of use, nothing gets through, though other paths deliver",
                           "plane 1 to leaf 4 (3 paths): in use again, probes are answered"}));
    ASSERT_EQ(to.debug.size(), 6U);
    EXPECT_EQ(to.debug.front(),
              "path by uplink 0 of plane 1 to leaf 4: assumed bad; nothing gets through, though other paths deliver");
}

TEST(transition_log, a_plane_whose_last_path_is_kept_is_in_use)
{
    written to;
    to.path(0, path_state::assumed_bad, path_cause::silence);
    to.path(1, path_state::assumed_bad, path_cause::silence);
    to.path(2, path_state::kept, path_cause::loss);
    EXPECT_TRUE(to.info.empty());
    EXPECT_EQ(
        to.debug.back(),
        "path by uplink 2 of plane 1 to leaf 4: kept in use though bad, nothing better is left; packets are lost");
}

TEST(transition_log, distinguishes_planes_of_profiles_and_leaves)
{
    written to;
    to.log.on_path({.profile = 0, .leaf = 4, .plane = 1}, 0, 2, {path_state::assumed_bad, path_cause::loss}, {});
    to.log.on_path({.profile = 0, .leaf = 5, .plane = 1}, 1, 2, {path_state::assumed_bad, path_cause::loss}, {});
    to.log.on_path({.profile = 9, .leaf = 4, .plane = 1}, 1, 2, {path_state::assumed_bad, path_cause::loss}, {});
    EXPECT_TRUE(to.info.empty());
    to.log.on_path({.profile = 9, .leaf = 4, .plane = 1}, 0, 2, {path_state::denied, path_cause::controller}, {});
    EXPECT_EQ(to.info,
              (std::vector<std::string>{"plane 1 to leaf 4, EV profile 9 (2 paths): out of use, by a controller"}));
}

TEST(transition_log, prints_what_a_peer_says_of_each_port_that_changed)
{
    written to;
    const mrc_ip peer = parse_ip("fd6d:7263::1:1").value();
    to.log.on_peer(peer, {.ports = protocol::plane_mask{0b11}, .suspected = {}}, {});
    EXPECT_TRUE(to.info.empty());
    to.log.on_peer(peer, {.ports = protocol::plane_mask{0b01}, .suspected = {}}, {});
    to.log.on_peer(peer, {.ports = protocol::plane_mask{0b11}, .suspected = {}}, {});
    EXPECT_EQ(to.info, (std::vector<std::string>{"peer fd6d:7263::1:1: its port on plane 1 is out of use, it says",
                                                 "peer fd6d:7263::1:1: its port on plane 1 is usable, it says"}));
}

TEST(transition_log, prints_whether_and_on_which_planes_a_peer_is_reached)
{
    written to;
    const mrc_ip peer = parse_ip("fd6d:7263::1:1").value();
    const peer_condition well{.ports = protocol::plane_mask{0b11}, .suspected = {}};
    peer_condition now = well;
    now.suspected = protocol::plane_mask{0b10};
    to.log.on_peer(peer, now, {});
    to.log.on_peer(peer, now, {});
    now.silent = true;
    to.log.on_peer(peer, now, {});
    to.log.on_peer(peer, well, {});
    EXPECT_EQ(to.info, (std::vector<std::string>{
                           "peer fd6d:7263::1:1: plane 1 is out of use, packets reach it on other planes only",
                           "peer fd6d:7263::1:1: silent, nothing comes back on any plane",
                           "peer fd6d:7263::1:1: plane 1 is in use again, packets reach it there",
                           "peer fd6d:7263::1:1: heard again"}));
}

TEST(transition_log, holds_back_what_flaps_and_counts_it)
{
    written to;
    const instant start = instant{} + std::chrono::hours{1};
    const port_options port = port_of_plane_1();
    for (unsigned change = 0; change < transition_log::burst + 7; ++change)
        to.log.on_port(port, change % 2 == 0, "down", start);
    EXPECT_EQ(to.info.size(), transition_log::burst);
    EXPECT_EQ(to.log.next_deadline(), start + transition_log::interval);

    const std::size_t ports_only = to.info.size();
    to.path(0, path_state::assumed_bad, path_cause::loss, start);
    to.path(1, path_state::assumed_bad, path_cause::loss, start);
    to.path(2, path_state::assumed_bad, path_cause::loss, start);
    EXPECT_EQ(to.info.size(), ports_only + 1) << "each kind has a rate of its own";

    to.log.on_deadline(start + transition_log::interval);
    EXPECT_EQ(to.info.back(), "7 more changes of ports, too many for the log; mrcctl shows how they are now");
    EXPECT_EQ(to.log.next_deadline(), protocol::never);
}

} // namespace
} // namespace mrc::service
