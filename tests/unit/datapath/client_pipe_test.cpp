// SPDX-License-Identifier: Apache-2.0
#include "datapath/client_pipe.h"

#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace mrc::datapath
{
namespace
{

struct pipe_ends {
    pipe_ends()
    {
        int ends[2] = {-1, -1};
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        reader.reset(ends[0]);
        writer.reset(ends[1]);
    }
    kernel::unique_fd reader;
    kernel::unique_fd writer;
};

TEST(client_pipe, one_record_for_each_event_in_order)
{
    pipe_ends ends;
    const client_pipe pipe{std::move(ends.writer)};
    pipe.notify({session::event_kind::qp_fatal, 5});
    pipe.notify({session::event_kind::port_up, 1});
    session::event_record read;
    ASSERT_EQ(::read(ends.reader.get(), &read, sizeof(read)), static_cast<ssize_t>(sizeof(read)));
    EXPECT_EQ(read.kind, session::event_kind::qp_fatal);
    EXPECT_EQ(read.number, 5U);
    ASSERT_EQ(::read(ends.reader.get(), &read, sizeof(read)), static_cast<ssize_t>(sizeof(read)));
    EXPECT_EQ(read.kind, session::event_kind::port_up);
}

TEST(client_pipe, a_client_that_does_not_read_blocks_nobody)
{
    pipe_ends ends;
    const client_pipe pipe{std::move(ends.writer)};
    constexpr unsigned more_than_fit = 1 << 16;
    for (unsigned n = 0; n < more_than_fit; ++n)
        pipe.notify({session::event_kind::port_up, n});
    unsigned whole = 0;
    for (session::event_record read; ::read(ends.reader.get(), &read, sizeof(read)) == sizeof(read);)
        EXPECT_EQ(read.number, whole++) << "the first that fitted, each whole";
    EXPECT_GT(whole, 0U);
    EXPECT_LT(whole, more_than_fit);
}

TEST(client_pipe, a_client_that_has_gone_ends_nobody)
{
    ASSERT_NE(std::signal(SIGPIPE, SIG_IGN), SIG_ERR); // as mrcd does
    pipe_ends ends;
    const client_pipe pipe{std::move(ends.writer)};
    ends.reader.reset();
    pipe.notify({session::event_kind::port_up, 1});
}

} // namespace
} // namespace mrc::datapath
