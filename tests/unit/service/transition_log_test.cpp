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
constexpr path_figures figures{.row = 77, .tx_packets = 812, .losses = 31, .last_ack_ns = 2'000'000};
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
    std::vector<mrc_event_row> events;
    mrc_ip sole_host{}; // of all leaves
    transition_log log{
        {.planes = 2,
         .write = [this](log_level level, const std::string &line,
                         const mrc_event_row *) { (level == log_level::info ? info : debug).push_back(line); },
         .keep = [this](const mrc_event_row &event) { events.push_back(event); },
         .sole_host = [this](std::uint32_t) { return sole_host; }}};

    // What has been kept, in order.
    [[nodiscard]] std::vector<mrc_event_kind> kinds() const
    {
        std::vector<mrc_event_kind> all;
        all.reserve(events.size());
        for (const mrc_event_row &event : events)
            all.push_back(event.kind);
        return all;
    }

    void path(unsigned uplink, path_state state, path_cause cause, instant now = {})
    {
        log.on_path(plane_1, uplink, paths, {state, cause}, figures, now);
    }
};

mrc_event_row link_event(mrc_event_kind kind, mrc_link_blame blame, std::uint32_t spine)
{
    mrc_event_row event{};
    event.kind = kind;
    event.reason = MRC_REASON_LOOPS;
    event.blame = blame;
    event.plane = 1;
    event.leaf = 4;
    event.uplink = spine;
    event.tx_packets = 400;
    event.losses = 21;
    event.extra_rtt_ns = 1'234'000;
    port_of_plane_1().device.copy(event.name, sizeof(event.name) - 1);
    return event;
}

TEST(transition_log, says_what_loops_can_tell_of_a_link)
{
    written to;
    to.log.on_link(link_event(MRC_EVENT_LINK_LOSSY, MRC_BLAME_HOST_LINK_OR_LEAF, MRC_LOOP_NO_SPINE), {});
    to.log.on_link(link_event(MRC_EVENT_LINK_DEAD, MRC_BLAME_SPINE_LINK_OR_SPINE, 2), {});
    to.log.on_link(link_event(MRC_EVENT_LINK_DEAD, MRC_BLAME_LEAF, MRC_LOOP_NO_SPINE), {});
    to.log.on_link(link_event(MRC_EVENT_LINK_SLOW, MRC_BLAME_LEAF_SPINE_LINK, 2), {});
    to.log.on_link(link_event(MRC_EVENT_LINK_GOOD, MRC_BLAME_SPINE, 2), {});
    const std::string shown = ", as loops show; ";
    const std::string lost = "21 of 400 lost in the last second";
    EXPECT_EQ(to.info, (std::vector<std::string>{
                           "link of port eth1 to leaf 4 of plane 1, or that leaf: loses packets" + shown + lost,
                           "link of leaf 4 to spine 2 of plane 1, or that spine: dead" + shown + lost,
                           "leaf 4 of plane 1: dead" + shown + lost,
                           "link of leaf 4 to spine 2 of plane 1: slow" + shown + "1234.0 us more than the quickest",
                           "spine 2 of plane 1: good again" + shown + lost}));
    EXPECT_EQ(to.events.size(), 5U);
}

TEST(transition_log, says_which_host_s_link_loses_packets_which_way_and_who_finds_it_so)
{
    written to;
    mrc_event_row event = link_event(MRC_EVENT_LINK_LOSSY, MRC_BLAME_HOST_LINK, MRC_LOOP_NO_SPINE);
    event.name[0] = '\0'; // another host's
    event.peer = {{0xfd, 1}};
    event.direction = MRC_DIRECTION_DOWN;
    event.hosts = 1;
    event.witnesses = 3;
    to.log.on_link(event, {});
    EXPECT_EQ(to.info, std::vector<std::string>{
                           "link of host fd01:: to leaf 4 of plane 1: loses packets on the way down, as loops show; "
                           "21 of 400 lost in the last second, found by 1 host; good for 3"});
}

TEST(transition_log, prints_a_port_with_the_reason)
{
    written to;
    const port_options port = port_of_plane_1();
    to.log.on_port(port, false, MRC_PORT_NO_CARRIER, {});
    to.log.on_port(port, true, MRC_PORT_IN_USE, {});
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
              "path by uplink 0 of plane 1 to leaf 4: assumed bad, nothing gets through, though other paths deliver; "
              "812 packets sent there, 31 lost, acknowledged just now or never");
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
        "path by uplink 2 of plane 1 to leaf 4: kept in use though bad, nothing better is left, packets are lost; "
        "812 packets sent there, 31 lost, acknowledged just now or never");
}

TEST(transition_log, distinguishes_planes_of_profiles_and_leaves)
{
    written to;
    to.log.on_path({.profile = 0, .leaf = 4, .plane = 1}, 0, 2, {path_state::assumed_bad, path_cause::loss}, {}, {});
    to.log.on_path({.profile = 0, .leaf = 5, .plane = 1}, 1, 2, {path_state::assumed_bad, path_cause::loss}, {}, {});
    to.log.on_path({.profile = 9, .leaf = 4, .plane = 1}, 1, 2, {path_state::assumed_bad, path_cause::loss}, {}, {});
    EXPECT_TRUE(to.info.empty());
    to.log.on_path({.profile = 9, .leaf = 4, .plane = 1}, 0, 2, {path_state::denied, path_cause::controller}, {}, {});
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

TEST(transition_log, keeps_each_line_as_an_event)
{
    written to;
    const instant now = instant{} + std::chrono::milliseconds{5};
    to.log.on_port(port_of_plane_1(), false, MRC_PORT_DISABLED, now);
    to.path(0, path_state::assumed_bad, path_cause::silence, now);
    to.path(1, path_state::denied, path_cause::controller, now);
    to.path(2, path_state::assumed_bad, path_cause::loss, now);
    EXPECT_EQ(to.kinds(), (std::vector{MRC_EVENT_PORT_OUT_OF_USE, MRC_EVENT_PATH_ASSUMED_BAD, MRC_EVENT_PATH_DENIED,
                                       MRC_EVENT_PATH_ASSUMED_BAD, MRC_EVENT_PLANE_OUT_OF_USE}));
    ASSERT_EQ(to.events.size(), 5U);
    const mrc_event_row &port = to.events.front();
    EXPECT_EQ(port.time_ns, 5'000'000U);
    EXPECT_EQ(port.reason, MRC_REASON_DISABLED);
    EXPECT_EQ(port.plane, 1U);
    EXPECT_STREQ(port.name, "eth1");
    const mrc_event_row &path = to.events[3];
    EXPECT_EQ(path.reason, MRC_REASON_LOSS);
    EXPECT_EQ(path.leaf, 4U);
    EXPECT_EQ(path.uplink, 2U);
    EXPECT_EQ(path.path, 77U);
    EXPECT_EQ(path.tx_packets, 812U);
    EXPECT_EQ(path.losses, 31U);
    EXPECT_EQ(path.quiet_us, 3000U) << "at 5 ms, of 2 ms";
    EXPECT_TRUE(to.debug.back().ends_with("812 packets sent there, 31 lost, last acknowledged 3.0 ms before"));
    EXPECT_EQ(to.events.back().reason, MRC_REASON_LOSS) << "that of the last path";
    EXPECT_EQ(to.events.back().paths, paths);
}

TEST(transition_log, a_leaf_that_is_a_host_is_called_by_its_address)
{
    written to;
    to.sole_host = parse_ip("10.0.0.7").value();
    to.log.on_path(plane_1, 0, 1, {path_state::assumed_bad, path_cause::loss}, {}, {});
    EXPECT_EQ(to.info, (std::vector<std::string>{"plane 1 to peer 10.0.0.7 (1 paths): out of use, packets are lost"}));
}

TEST(transition_log, prints_sessions_at_debug_with_what_they_left)
{
    written to;
    mrc_client_row client{};
    client.pid = 812;
    client.uid = 1000;
    std::string{"mrc-perf"}.copy(client.command, sizeof(client.command));
    to.log.on_session_opened(4, client, {});
    client.queue_pairs = 2;
    client.registered_bytes = 4096;
    to.log.on_session_closed(4, client, MRC_REASON_CLIENT_GONE, {});
    EXPECT_TRUE(to.info.empty());
    EXPECT_EQ(to.debug,
              (std::vector<std::string>{"session 4: opened by mrc-perf, process 812 of user 1000",
                                        "session 4: closed, the client has gone; 2 queue pairs and 4096 bytes "
                                        "of memory were left"}));
    EXPECT_EQ(to.kinds(), (std::vector{MRC_EVENT_SESSION_OPENED, MRC_EVENT_SESSION_CLOSED}));
}

TEST(transition_log, says_what_a_program_begins_to_drop)
{
    written to;
    mrc_event_row drop{};
    drop.kind = MRC_EVENT_DROPS_BEGIN;
    drop.verdict = MRC_RX_DROP_WRONG_PEER;
    drop.plane = 1;
    drop.peer = *parse_ip("fd6d:7263::9:9");
    drop.qpn = 5;
    drop.losses = 12;
    drop.quiet_us = 3'210'000;
    port_of_plane_1().device.copy(drop.name, sizeof(drop.name) - 1);
    to.log.on_drops(drop, {});
    drop = {};
    drop.kind = MRC_EVENT_DROPS_BEGIN;
    drop.verdict = MRC_TX_DROP_NO_PEER;
    drop.plane = MRC_DROP_NO_PORT;
    drop.peer = *parse_ip("fd6d:7263::9:9");
    drop.losses = 1;
    to.log.on_drops(drop, {});
    EXPECT_EQ(to.info,
              (std::vector<std::string>{"port eth1 (plane 1): drops packets, rx_drop_wrong_peer; the first for "
                                        "3.2 s from fd6d:7263::9:9, for queue pair 5, 12 in all",
                                        "overlay: drops packets, tx_drop_no_peer; the first to "
                                        "fd6d:7263::9:9, 1 in all"}));
    EXPECT_TRUE(to.events.empty()) << "the program has kept it";
}

TEST(transition_log, what_a_closed_queue_pair_leaves_is_no_line_at_info)
{
    written to;
    mrc_event_row drop{};
    drop.kind = MRC_EVENT_DROPS_BEGIN;
    drop.verdict = MRC_RX_DROP_UNKNOWN_QP;
    to.log.on_drops(drop, {});
    EXPECT_TRUE(to.info.empty());
    EXPECT_EQ(to.debug.size(), 1U);
}

TEST(transition_log, says_how_many_failures_have_no_event)
{
    written to;
    to.log.on_untold_failures(7, {});
    EXPECT_EQ(to.debug, std::vector<std::string>{"7 more queue pairs: failed, too many at once for an event each"});
    EXPECT_EQ(to.kinds(), std::vector{MRC_EVENT_QP_ERRORS_UNTOLD});
}

TEST(transition_log, says_which_plane_to_a_peer_is_at_fault)
{
    written to;
    mrc_event_row event = link_event(MRC_EVENT_LINK_LOSSY, MRC_BLAME_PEER, MRC_LOOP_NO_SPINE);
    event.reason = MRC_REASON_PACKETS;
    event.direction = MRC_DIRECTION_UP;
    event.peer = *parse_ip("fd6d:7263::9:9");
    to.log.on_link(event, {});
    event.kind = MRC_EVENT_LINK_DEAD;
    event.direction = MRC_DIRECTION_UNKNOWN;
    to.log.on_link(event, {});
    event.kind = MRC_EVENT_LINK_SLOW;
    to.log.on_link(event, {});
    const std::string at = "plane 1 to peer fd6d:7263::9:9: ";
    EXPECT_EQ(to.info,
              (std::vector{at + "loses packets on the way there, as packets and probes show; 21 of 400 lost in "
                                "the last second",
                           at + "dead, as packets and probes show; 21 packets sent since anything came from "
                                "there",
                           at + "slow, as packets and probes show; 1234.0 us more than by the quickest plane"}));
}

TEST(transition_log, holds_back_what_flaps_and_counts_it)
{
    written to;
    const instant start = instant{} + std::chrono::hours{1};
    const port_options port = port_of_plane_1();
    for (unsigned change = 0; change < transition_log::burst + 7; ++change)
        to.log.on_port(port, change % 2 == 0, MRC_PORT_DOWN, start);
    EXPECT_EQ(to.info.size(), transition_log::burst);
    EXPECT_EQ(to.events.size(), transition_log::burst + 7) << "which all are kept";
    EXPECT_EQ(to.log.next_deadline(), start + transition_log::interval);

    const std::size_t ports_only = to.info.size();
    to.path(0, path_state::assumed_bad, path_cause::loss, start);
    to.path(1, path_state::assumed_bad, path_cause::loss, start);
    to.path(2, path_state::assumed_bad, path_cause::loss, start);
    EXPECT_EQ(to.info.size(), ports_only + 1) << "each kind has a rate of its own";

    to.log.on_deadline(start + transition_log::interval);
    EXPECT_EQ(to.info.back(), "7 more changes of ports, too many for the log; mrcctl event has them");
    EXPECT_EQ(to.log.next_deadline(), protocol::never);
}

} // namespace
} // namespace mrc::service
