// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/user_account.h"

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

TEST(user_account, all_clients_of_a_user_share_a_limit)
{
    user_accounts accounts;
    const auto first = accounts.of(1000);
    const auto second = accounts.of(1000);
    const auto other = accounts.of(1001);
    const auto taken = holding::take(first, resource::queue_pairs, 3, 4);
    ASSERT_TRUE(taken);
    EXPECT_FALSE(holding::take(second, resource::queue_pairs, 2, 4));
    EXPECT_TRUE(holding::take(second, resource::queue_pairs, 1, 4));
    EXPECT_TRUE(holding::take(second, resource::memory_regions, 4, 4)) << "each resource has its own";
    EXPECT_TRUE(holding::take(other, resource::queue_pairs, 4, 4)) << "each user has his own";
}

TEST(user_account, what_is_destroyed_returns)
{
    user_accounts accounts;
    const auto account = accounts.of(1000);
    {
        auto taken = holding::take(account, resource::memory_bytes, 4096, 4096);
        ASSERT_TRUE(taken);
        const holding moved = std::move(*taken);
        taken.reset();
        EXPECT_EQ(account->held(resource::memory_bytes), 4096u);
    }
    EXPECT_EQ(account->held(resource::memory_bytes), 0u);
    holding kept;
    kept = *holding::take(account, resource::clients, 1, 2);
    kept = *holding::take(account, resource::clients, 1, 2);
    EXPECT_EQ(account->held(resource::clients), 1u) << "what it held before is given back";
}

TEST(user_account, nothing_overflows_and_a_lowered_limit_holds)
{
    user_accounts accounts;
    const auto account = accounts.of(1000);
    const auto taken = holding::take(account, resource::memory_bytes, 100, 1000);
    EXPECT_FALSE(holding::take(account, resource::memory_bytes, UINT64_MAX, UINT64_MAX));
    EXPECT_FALSE(holding::take(account, resource::memory_bytes, 1, 50)) << "a reload has lowered it";
    EXPECT_FALSE(holding::take(account, resource::memory_bytes, 0, 50));
    EXPECT_EQ(account->held(resource::memory_bytes), 100u);
}

TEST(user_account, accounts_without_clients_are_forgotten)
{
    user_accounts accounts;
    auto account = accounts.of(1000);
    const std::weak_ptr<user_account> watched = account;
    auto held = holding::take(account, resource::clients, 1, 1);
    account.reset();
    EXPECT_FALSE(holding::take(accounts.of(1000), resource::clients, 1, 1)) << "held as long as something is taken";
    held.reset();
    EXPECT_TRUE(watched.expired());
}

} // namespace
} // namespace mrc::service
