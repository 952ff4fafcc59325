// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/trip_packet.h"

#include <netinet/ip6.h>

#include <gtest/gtest.h>

namespace mrc::ctl::diagnose
{
namespace
{

constexpr std::size_t ethernet_and_outer = MRC_OUTER_BYTES;

TEST(trip_packet, is_as_long_as_it_is_asked_to_be)
{
    trip_frame frame;
    frame.outer_bytes = 3204;
    EXPECT_EQ(bytes_of(frame).size(), MRC_ETHERNET_BYTES + 3204U);
    frame.outer_bytes = 0;
    EXPECT_EQ(bytes_of(frame).size(), ethernet_and_outer + sizeof(ip6_hdr) + sizeof(trip_mark));
}

TEST(trip_packet, is_known_again_once_the_outer_header_is_popped)
{
    trip_frame frame;
    frame.mark = {.nonce = 7, .route = 3, .number = 12};
    const auto bytes = bytes_of(frame);
    const auto mark = mark_in(std::span{bytes}.subspan(ethernet_and_outer));
    ASSERT_TRUE(mark);
    EXPECT_EQ(mark->nonce, 7U);
    EXPECT_EQ(mark->route, 3U);
    EXPECT_EQ(mark->number, 12U);
    EXPECT_FALSE(mark_in(std::span{bytes}.subspan(ethernet_and_outer, 30))) << "cut short";
    EXPECT_FALSE(mark_in(std::span{bytes}.subspan(MRC_ETHERNET_BYTES))) << "not popped";
}

TEST(trip_packet, an_echo_request_is_no_answer_and_its_reply_is)
{
    trip_frame frame;
    frame.is_echo = true;
    frame.mark.number = 9;
    auto bytes = bytes_of(frame);
    const auto inner = std::span{bytes}.subspan(ethernet_and_outer);
    EXPECT_FALSE(mark_in(inner));
    std::uint32_t sum = 0; // over the pseudo-header and the message: all ones, RFC 1071
    for (std::size_t i = 8; i < inner.size(); ++i)
        sum += static_cast<std::uint32_t>(inner[i]) << (i % 2 == 0 ? 8 : 0);
    sum += static_cast<std::uint32_t>(inner.size() - sizeof(ip6_hdr)) + 58;
    EXPECT_EQ((sum & 0xFFFF) + (sum >> 16), 0xFFFFU);
    inner[sizeof(ip6_hdr)] = 129; // echo reply
    ASSERT_TRUE(mark_in(inner));
    EXPECT_EQ(mark_in(inner)->number, 9U);
}

} // namespace
} // namespace mrc::ctl::diagnose
