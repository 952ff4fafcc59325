// SPDX-License-Identifier: Apache-2.0
#include "datapath/service_calls.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::datapath
{
namespace
{

struct noting : service_calls::call {
    noting(std::vector<int> &to, int what) : log{to}, number{what} {}
    void run() override { log.push_back(number); }
    std::vector<int> &log;
    int number;
};

TEST(service_calls, run_in_the_order_in_which_they_were_put)
{
    service_calls calls;
    std::vector<int> log;
    noting first{log, 1};
    noting second{log, 2};
    EXPECT_FALSE(calls.any());
    calls.put(first);
    calls.put(second);
    EXPECT_TRUE(calls.any());
    EXPECT_EQ(calls.run_all(), 2U);
    EXPECT_EQ(log, (std::vector{1, 2}));
    EXPECT_TRUE(first.done.try_acquire());
    EXPECT_TRUE(second.done.try_acquire());
    EXPECT_FALSE(calls.any());
    EXPECT_EQ(calls.run_all(), 0U);
}

TEST(service_calls, who_waits_goes_on_when_the_other_thread_has_run_it)
{
    service_calls calls;
    std::vector<int> log;
    noting one{log, 7};
    calls.put(one);
    std::jthread worker{[&] { calls.run_all(); }};
    one.done.acquire();
    EXPECT_EQ(log, std::vector{7});
}

} // namespace
} // namespace mrc::datapath
