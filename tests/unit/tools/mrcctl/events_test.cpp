// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/events.h"

#include <cstdlib>
#include <ctime>
#include <string>

#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

namespace mrc::ctl
{
namespace
{

namespace json = boost::json;

mrc_event_row event_of(mrc_event_kind kind, mrc_event_reason reason)
{
    mrc_event_row event{};
    event.number = 7;
    event.time_ns = 989'123'456'000;
    event.real_time_ns = 1'795'661'220'123'456'000; // 2026-11-26 02:47:00.123456 UTC
    event.kind = kind;
    event.reason = reason;
    event.plane = 1;
    event.leaf = 4;
    event.paths = 2;
    return event;
}

TEST(mrcctl_events, have_the_time_of_both_clocks)
{
    const json::object view = event_view(event_of(MRC_EVENT_PLANE_OUT_OF_USE, MRC_REASON_LOSS));
    EXPECT_EQ(view.at("time_ns").to_number<std::uint64_t>(), 989'123'456'000U);
    EXPECT_EQ(view.at("time").as_string(), "2026-11-26T02:47:00.123456Z");
    ASSERT_EQ(::setenv("TZ", "UTC-2", 1), 0);
    ::tzset();
    EXPECT_EQ(event_line(event_of(MRC_EVENT_PLANE_OUT_OF_USE, MRC_REASON_LOSS)),
              "2026-11-26 04:47:00.123456  plane 1 to leaf 4 (2 paths): out of use, packets are lost");
}

TEST(mrcctl_events, have_names_and_the_fields_of_their_kind)
{
    const json::object plane = event_view(event_of(MRC_EVENT_PLANE_OUT_OF_USE, MRC_REASON_LOSS));
    EXPECT_EQ(plane.at("event").as_string(), "plane_out_of_use");
    EXPECT_EQ(plane.at("reason").as_string(), "loss");
    EXPECT_EQ(plane.at("leaf").to_number<int>(), 4);
    EXPECT_EQ(plane.at("paths").to_number<int>(), 2);
    EXPECT_TRUE(plane.at("peer").is_null());
    EXPECT_FALSE(plane.contains("uplink"));
    EXPECT_FALSE(plane.contains("session"));

    mrc_event_row path = event_of(MRC_EVENT_PATH_ASSUMED_BAD, MRC_REASON_SILENCE);
    path.uplink = 3;
    path.path = 12;
    path.tx_packets = 812;
    path.losses = 31;
    path.quiet_us = 12'345;
    const json::object path_view = event_view(path);
    EXPECT_EQ(path_view.at("uplink").to_number<int>(), 3);
    EXPECT_EQ(path_view.at("path").to_number<int>(), 12);
    EXPECT_EQ(path_view.at("tx_packets").to_number<int>(), 812);
    EXPECT_EQ(path_view.at("losses").to_number<int>(), 31);
    EXPECT_EQ(path_view.at("quiet_us").to_number<int>(), 12'345);

    mrc_event_row link = event_of(MRC_EVENT_LINK_DEAD, MRC_REASON_LOOPS);
    link.blame = MRC_BLAME_SPINE_LINK_OR_SPINE;
    link.uplink = 3;
    link.tx_packets = 200;
    link.losses = 180;
    const json::object link_view = event_view(link);
    EXPECT_EQ(link_view.at("event").as_string(), "link_dead");
    EXPECT_EQ(link_view.at("spine").to_number<int>(), 3);
    EXPECT_EQ(link_view.at("blame").as_string(), "spine_link_or_spine");
    EXPECT_EQ(link_view.at("loops").to_number<int>(), 200);
    EXPECT_EQ(link_view.at("lost").to_number<int>(), 180);
    link.uplink = MRC_LOOP_NO_SPINE;
    EXPECT_TRUE(event_view(link).at("spine").is_null()) << "of the port to the leaf";
    link.leaf = MRC_FAULT_NOWHERE;
    link.direction = MRC_DIRECTION_UP;
    link.hosts = 4;
    EXPECT_TRUE(event_view(link).at("leaf").is_null()) << "of a spine";
    EXPECT_EQ(event_view(link).at("direction").as_string(), "up");
    EXPECT_EQ(event_view(link).at("hosts").to_number<int>(), 4);

    const json::object silent = event_view(event_of(MRC_EVENT_PEER_SILENT, MRC_REASON_NO_ANSWER));
    EXPECT_TRUE(silent.at("plane").is_null()) << "on any plane";
    const json::object usable = event_view(event_of(MRC_EVENT_PORT_USABLE, MRC_REASON_NONE));
    EXPECT_TRUE(usable.at("reason").is_null());
    EXPECT_EQ(usable.at("plane").to_number<int>(), 1);
}

TEST(mrcctl_events, of_a_queue_pair_name_both_ends)
{
    mrc_event_row failed = event_of(MRC_EVENT_QP_ERROR, MRC_REASON_RETRIES);
    failed.qpn = 16;
    failed.peer_qpn = 32;
    failed.session = 3;
    failed.peer = {{0xfd, 2}};
    const json::object view = event_view(failed);
    EXPECT_EQ(view.at("event").as_string(), "qp_error");
    EXPECT_EQ(view.at("reason").as_string(), "retries");
    EXPECT_EQ(view.at("qpn").to_number<int>(), 16);
    EXPECT_EQ(view.at("peer_qpn").to_number<int>(), 32);
    EXPECT_EQ(view.at("session").to_number<int>(), 3);
    EXPECT_EQ(view.at("peer").as_string(), "fd02::");
    EXPECT_EQ(view.at("text").as_string(),
              "queue pair 16 of session 3: failed, nothing that was sent again was acknowledged");
    EXPECT_FALSE(view.contains("pid"));
}

TEST(mrcctl_events, of_a_later_mrcd_are_told_as_unknown)
{
    const auto later = event_view(
        event_of(static_cast<mrc_event_kind>(MRC_EVENT_COUNT), static_cast<mrc_event_reason>(MRC_REASON_COUNT)));
    EXPECT_EQ(later.at("event").as_string(), "unknown (" + std::to_string(MRC_EVENT_COUNT) + ")");
    EXPECT_EQ(later.at("reason").as_string(), "unknown (" + std::to_string(MRC_REASON_COUNT) + ")");
}

} // namespace
} // namespace mrc::ctl
