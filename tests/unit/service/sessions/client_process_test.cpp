// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/client_process.h"

#include <array>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel/unique_fd.h"

namespace mrc::service
{
namespace
{

TEST(client_process, is_who_connected)
{
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    const kernel::unique_fd one{ends[0]};
    const kernel::unique_fd other{ends[1]};
    EXPECT_EQ(process_behind(one.get()), ::getpid());
    EXPECT_EQ(process_behind(-1), 0);
}

TEST(client_process, that_is_not_to_be_found_has_no_name)
{
    EXPECT_EQ(command_of(0), "");
}

TEST(client_process, a_name_that_would_move_a_cursor_is_made_harmless)
{
    EXPECT_EQ(printable_command("mrc-perf\n"), "mrc-perf");
    EXPECT_EQ(printable_command("a b~!\n"), "a b~!");
    EXPECT_EQ(printable_command("\x1b[2J\n\x7f\xc3\xa4\n"), "?[2J????");
    EXPECT_EQ(printable_command(""), "");
}

} // namespace
} // namespace mrc::service
