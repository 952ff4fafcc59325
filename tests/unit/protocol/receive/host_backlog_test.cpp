// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/receive/host_backlog.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

TEST(backlog_penalty, grows_with_the_wait_up_to_a_quarter_of_the_window)
{
    EXPECT_EQ(backlog_penalty(0us, 50us), 0);
    EXPECT_EQ(backlog_penalty(50us, 50us), 0);
    EXPECT_EQ(backlog_penalty(51us, 50us), 4);
    EXPECT_EQ(backlog_penalty(199us, 50us), 12);
    EXPECT_EQ(backlog_penalty(400us, 50us), 32);
    EXPECT_EQ(backlog_penalty(20ms, 50us), 32);
    EXPECT_EQ(backlog_penalty(20ms, 0us), 0) << "switched off";
    EXPECT_EQ(backlog_penalty(-1us, 50us), 0) << "a clock read before the packet came";
}

} // namespace
} // namespace mrc::protocol
