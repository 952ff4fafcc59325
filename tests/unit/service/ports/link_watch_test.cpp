// SPDX-License-Identifier: Apache-2.0
#include "service/ports/link_watch.h"

#include <future>

#include <gtest/gtest.h>
#include <sys/eventfd.h>

namespace mrc::service
{
namespace
{

// The thread that made it answers a request all the while, and comes to nothing else.
TEST(link_watch, links_are_followed_while_the_service_thread_is_busy)
{
    const kernel::unique_fd links{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::promise<std::thread::id> followed;
    link_watch watch{links.get(), [&] {
                         eventfd_t value = 0;
                         if (::eventfd_read(links.get(), &value) == 0)
                             followed.set_value(std::this_thread::get_id());
                     }};
    watch.start();
    ASSERT_EQ(::eventfd_write(links.get(), 1), 0);
    EXPECT_NE(followed.get_future().get(), std::this_thread::get_id());
}

TEST(link_watch, ends_without_having_begun)
{
    const link_watch watch{-1, [] {}};
}

} // namespace
} // namespace mrc::service
