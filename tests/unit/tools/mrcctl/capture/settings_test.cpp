// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/capture/settings.h"

#include <vector>

#include <gtest/gtest.h>

#include "mrc/abi/capture.h"

namespace mrc::ctl
{
namespace
{

TEST(capture_settings, psns_are_one_or_a_range_that_may_begin_anew)
{
    EXPECT_EQ(parse_psns("7")->first, 7U);
    EXPECT_EQ(parse_psns("7")->count, 1U);
    EXPECT_EQ(parse_psns("4096-8191")->count, 4096U);
    EXPECT_EQ(parse_psns("0xfffff0-0xf")->count, 32U);
    for (const char *wrong : {"", "-", "7-", "-7", "x", "0x1000000", "1-2-3", "1.5"})
        EXPECT_FALSE(parse_psns(wrong)) << wrong;
    EXPECT_NE(parse_psns("x").error().find("FIRST-LAST"), std::string::npos);
}

TEST(capture_settings, a_share_is_one_of_n)
{
    EXPECT_EQ(*parse_sample("1/100"), 100U);
    for (const char *wrong : {"", "1/0", "2/3", "100", "1/", "1/x"})
        EXPECT_FALSE(parse_sample(wrong)) << wrong;
}

TEST(capture_settings, choose_packets_by_queue_pair_both_ways_psn_and_plane)
{
    mrc_capture_ring ring = settings_of({.qpn = 5, .psns = {.first = 0xFFFFFE, .count = 4}, .plane = 2}, 9);
    ring.lease_ns = 1000;
    mrc_capture_packet packet{.now = 1, .point = MRC_CAPTURE_ARRIVED, .port = 2, .dqp = 5, .psn = 1};
    const auto chosen = [&] { return mrc_capture_choose(&ring, &packet) != 0; };
    EXPECT_TRUE(chosen());
    packet.psn = 2;
    EXPECT_FALSE(chosen());
    packet.psn = 0xFFFFFE;
    EXPECT_TRUE(chosen());
    packet.port = 1;
    EXPECT_FALSE(chosen());
    packet.port = 2;
    packet.point = MRC_CAPTURE_PUSHED;
    EXPECT_FALSE(chosen()) << "5 is a queue pair of this host";
    packet.dqp = 9;
    EXPECT_TRUE(chosen());
    packet.dqp = 0;
    EXPECT_FALSE(chosen()) << "no MRC";
    EXPECT_EQ(ring.producer, 3U);
}

TEST(capture_settings, the_ring_is_bounded_and_counts_what_finds_no_room)
{
    mrc_capture_ring ring = settings_of({}, 0);
    ring.lease_ns = 1000;
    const mrc_capture_packet packet{.now = 1, .point = MRC_CAPTURE_ARRIVED, .port = 0, .dqp = 1, .psn = 0};
    for (std::uint64_t i = 1; i <= MRC_CAPTURE_SLOTS; ++i)
        EXPECT_EQ(mrc_capture_choose(&ring, &packet), i);
    EXPECT_EQ(mrc_capture_choose(&ring, &packet), 0U);
    EXPECT_EQ(ring.no_room, 1U);
    ring.consumer = 1;
    EXPECT_EQ(mrc_capture_choose(&ring, &packet), MRC_CAPTURE_SLOTS + 1U);
    EXPECT_EQ(ring.chosen, MRC_CAPTURE_SLOTS + 2U);
}

TEST(capture_settings, sampling_and_rate_leave_packets_out)
{
    mrc_capture_ring ring = settings_of({.sample = 4}, 0);
    ring.lease_ns = ~0ULL;
    mrc_capture_packet packet{.now = 1, .point = MRC_CAPTURE_ARRIVED, .port = 0, .dqp = 1, .psn = 0};
    for (int i = 0; i < 100; ++i)
        (void)mrc_capture_choose(&ring, &packet);
    EXPECT_EQ(ring.producer, 25U);

    ring = settings_of({.rate = 1000}, 0);
    ring.lease_ns = ~0ULL;
    for (int i = 0; i < 100; ++i)
        (void)mrc_capture_choose(&ring, &packet);
    EXPECT_EQ(ring.producer, 1U + MRC_CAPTURE_BURST_NS / ring.interval_ns);
    EXPECT_EQ(ring.over_rate, 100 - ring.producer);
    const std::uint64_t before = ring.producer;
    packet.now += ring.interval_ns;
    EXPECT_NE(mrc_capture_choose(&ring, &packet), 0U);
    EXPECT_EQ(ring.producer, before + 1);
}

TEST(capture_settings, a_lease_that_is_over_ends_the_capture)
{
    mrc_capture_ring ring = settings_of({}, 0);
    ring.lease_ns = 1000;
    const mrc_capture_packet late{.now = 1000, .point = MRC_CAPTURE_ARRIVED, .port = 0, .dqp = 1, .psn = 0};
    EXPECT_EQ(mrc_capture_choose(&ring, &late), 0U);
    EXPECT_EQ(ring.lease_ns, 0U);
    EXPECT_EQ(ring.chosen, 0U);
}

TEST(capture_settings, the_destination_is_that_of_the_inner_header)
{
    std::vector<std::byte> frame(94);
    frame[12] = std::byte{0x86};
    frame[14 + 6] = std::byte{41};
    frame[14 + 40 + 24] = std::byte{0xFD};
    EXPECT_EQ(inner_destination(frame)->bytes[0], 0xFD);
    EXPECT_FALSE(inner_destination(std::span{frame}.first(93)));
    frame[14 + 6] = std::byte{4};
    frame[14 + 40 + 16] = std::byte{10};
    EXPECT_EQ(inner_destination(frame)->bytes[12], 10);
    EXPECT_EQ(inner_destination(frame)->bytes[11], 0xFF);
    frame[14 + 6] = std::byte{17};
    frame[14 + 24] = std::byte{0xFC};
    EXPECT_EQ(inner_destination(frame)->bytes[0], 0xFC);
}

} // namespace
} // namespace mrc::ctl
