// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/deferred_close.h"

#include <cstddef>
#include <utility>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

using kernel::unique_fd;

struct two_ends {
    unique_fd near;
    unique_fd far;
};

// TCP, for close() of such a socket can be made to wait: for the other end to read.
two_ends connected_sockets()
{
    const unique_fd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr *>(&address), length), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address), &length), 0);
    two_ends made{.near = unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}, .far = unique_fd{}};
    EXPECT_EQ(::connect(made.near.get(), reinterpret_cast<const sockaddr *>(&address), length), 0);
    made.far = unique_fd{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    return made;
}

// close() of the near end lasts until what it has sent was read, or the far end is closed.
void make_close_wait(const two_ends &ends)
{
    char block[65536]{};
    while (::send(ends.near.get(), block, sizeof(block), MSG_DONTWAIT) > 0)
        continue;
    const linger whole_minutes{.l_onoff = 1, .l_linger = 600};
    ASSERT_EQ(::setsockopt(ends.near.get(), SOL_SOCKET, SO_LINGER, &whole_minutes, sizeof(whole_minutes)), 0);
}

two_ends pipe_ends()
{
    int fds[2] = {-1, -1};
    EXPECT_EQ(::pipe(fds), 0);
    return {.near = unique_fd{fds[1]}, .far = unique_fd{fds[0]}};
}

// The reader of a pipe sees the end of it when the last writer is closed.
bool sees_the_end(const unique_fd &reader)
{
    pollfd wanted{.fd = reader.get(), .events = POLLIN, .revents = 0};
    char byte = 0;
    return ::poll(&wanted, 1, 10'000) == 1 && ::read(reader.get(), &byte, 1) == 0;
}

TEST(deferred_close, closes_what_it_was_given)
{
    deferred_close closing;
    for (int i = 0; i < 3; ++i) {
        two_ends ends = pipe_ends();
        EXPECT_TRUE(closing.add(std::move(ends.near)));
        EXPECT_TRUE(sees_the_end(ends.far));
    }
}

TEST(deferred_close, refuses_more_than_may_wait_and_closes_them_all_the_same)
{
    deferred_close closing;
    two_ends slow = connected_sockets();
    make_close_wait(slow);
    ASSERT_TRUE(closing.add(std::move(slow.near)));

    two_ends ends = pipe_ends();
    // The thread has taken the slow one by itself, or with some of these, at most as many as may wait.
    std::size_t added = 0;
    while (added <= 3 * deferred_close::most_waiting && closing.add(unique_fd{::dup(ends.near.get())}))
        ++added;
    EXPECT_GE(added, deferred_close::most_waiting - 1);
    EXPECT_LE(added, 2 * deferred_close::most_waiting);

    ends.near = unique_fd{};
    slow.far = unique_fd{}; // nobody is left to read: the slow close() ends
    EXPECT_TRUE(sees_the_end(ends.far));
}

TEST(deferred_close, ends_without_waiting_for_a_close)
{
    two_ends slow = connected_sockets();
    make_close_wait(slow);
    two_ends ends = pipe_ends();
    {
        deferred_close closing;
        EXPECT_TRUE(closing.add(std::move(slow.near)));
        EXPECT_TRUE(closing.add(std::move(ends.near)));
    }
    slow.far = unique_fd{};
    EXPECT_TRUE(sees_the_end(ends.far)); // closed by the thread, which outlives its owner
}

} // namespace
} // namespace mrc::service
