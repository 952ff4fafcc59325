// SPDX-License-Identifier: Apache-2.0
#include "kernel/thread_times.h"

#include <chrono>
#include <ctime>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

namespace mrc::kernel
{
namespace
{

using namespace std::chrono_literals;

std::chrono::nanoseconds own_time()
{
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

void compute_for(std::chrono::nanoseconds time)
{
    for (const auto begin = own_time(); own_time() - begin < time;) {
    }
}

TEST(thread_times, are_those_of_the_thread_that_opened_them_whoever_reads)
{
    EXPECT_FALSE(thread_times{}.read()) << "not opened";
    thread_times own;
    own.open();
    const auto before = own.read();
    ASSERT_TRUE(before);
    compute_for(20ms);
    std::optional<thread_times::times> after;
    std::thread{[&] {
        compute_for(50ms);
        after = own.read();
    }}.join();
    ASSERT_TRUE(after);
    const std::chrono::nanoseconds ran{after->ran_ns - before->ran_ns};
    EXPECT_GE(ran, 19ms);
    EXPECT_LT(ran, 50ms) << "the other thread's time does not count";
    EXPECT_GE(after->waited_ns, before->waited_ns);
}

} // namespace
} // namespace mrc::kernel
