// SPDX-License-Identifier: Apache-2.0
#include "kernel/receive_depth.h"

#include <gtest/gtest.h>

namespace mrc::kernel
{
namespace
{

constexpr std::uint32_t most = 4096;

class a_receive_depth : public ::testing::Test
{
protected:
    // So many packets, of which at most `waiting` wait at a time.
    void take(std::uint32_t waiting, std::uint32_t packets = receive_depth::judged_over)
    {
        for (std::uint32_t taken = 0; taken < packets; taken += waiting)
            depth.on_look(waiting, depth.frames() - waiting, waiting);
    }

    receive_depth depth{most};
};

TEST_F(a_receive_depth, is_the_most_until_packets_have_come)
{
    EXPECT_EQ(depth.frames(), most);
    for (int look = 0; look < 100'000; ++look)
        depth.on_look(0, most, 0);
    take(64, receive_depth::judged_over - 64);
    EXPECT_EQ(depth.frames(), most);
}

TEST_F(a_receive_depth, is_twice_what_waits)
{
    take(512);
    EXPECT_EQ(depth.frames(), 1024U);
    take(16);
    EXPECT_EQ(depth.frames(), 1024U) << "what waited the time before counts, too";
    take(16);
    EXPECT_EQ(depth.frames(), receive_depth::least);
}

TEST_F(a_receive_depth, grows_at_once_where_more_than_half_of_it_waits)
{
    take(16);
    ASSERT_EQ(depth.frames(), receive_depth::least);
    depth.on_look(128, 128, 64);
    EXPECT_EQ(depth.frames(), receive_depth::least);
    depth.on_look(129, 127, 64);
    EXPECT_EQ(depth.frames(), 4U * 129);
    depth.on_look(2000, 100, 64);
    EXPECT_EQ(depth.frames(), most);
}

TEST_F(a_receive_depth, does_not_come_back_to_what_was_too_little)
{
    for (std::uint32_t floor = receive_depth::least; floor < most; floor *= 2) {
        take(16);
        take(16);
        ASSERT_EQ(depth.frames(), floor);
        depth.on_look(floor, 0, 64);
        EXPECT_EQ(depth.frames(), most);
        take(16);
    }
    take(16);
    EXPECT_EQ(depth.frames(), most);
}

TEST_F(a_receive_depth, is_no_more_than_there_is)
{
    receive_depth little{100};
    for (int look = 0; look < 1000; ++look)
        little.on_look(60, 40, 60);
    EXPECT_EQ(little.frames(), 100U);
    little.on_look(100, 0, 60);
    EXPECT_EQ(little.frames(), 100U);
}

} // namespace
} // namespace mrc::kernel
