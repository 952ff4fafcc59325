// SPDX-License-Identifier: Apache-2.0
#include "datapath/resting_queue_pairs.h"

#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "unit/datapath/queue_pair_in_memory.h"

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;

constexpr protocol::duration rest_after = resting_queue_pairs::rest_after;

struct numbered {
    int number = 0;
    list_links<numbered> links;
};
using list_of_numbered = linked_list<numbered, &numbered::links>;

std::vector<int> taken(list_of_numbered &list)
{
    std::vector<int> numbers;
    for (numbered *first = list.front(); first != nullptr; first = list.front()) {
        numbers.push_back(first->number);
        list.remove(*first);
    }
    return numbers;
}

TEST(linked_list, members_leave_from_anywhere_and_the_others_keep_their_order)
{
    std::vector<numbered> members(5);
    for (int n = 0; n < 5; ++n)
        members[static_cast<std::size_t>(n)].number = n;
    for (const std::vector<std::size_t> &gone :
         {std::vector<std::size_t>{0}, {2}, {4}, {0, 1}, {3, 4}, {1, 3}, {0, 1, 2, 3, 4}}) {
        list_of_numbered list;
        std::vector<int> expected;
        for (numbered &member : members)
            list.push_back(member);
        for (const std::size_t each : gone)
            list.remove(members[each]);
        list.remove(members[gone.front()]); // not in it: nothing happens
        for (int n = 0; n < 5; ++n)
            if (std::ranges::find(gone, static_cast<std::size_t>(n)) == gone.end())
                expected.push_back(n);
        EXPECT_EQ(taken(list), expected);
    }
}

// Queue pairs that hold a request each, which has completed.
struct resting_queue_pairs_test : testing::Test {
    resting_queue_pairs_test()
    {
        for (std::uint32_t number = 1; number <= 3; ++number) {
            qps.push_back(rings.connect(*client, number, host, &pool));
            qps.back()->protocol->announce();
            qps.back()->posted->announce();
            (void)pool.replenish();
            EXPECT_TRUE(qps.back()->protocol->can_post());
            EXPECT_TRUE(qps.back()->posted->make_room(0, 0));
        }
        lent_by_one = pool.lent_bytes() / qps.size();
    }
    [[nodiscard]] std::size_t lent() const { return pool.lent_bytes() / lent_by_one; } // by so many

    protocol::slab_pool pool;
    test::remote_host host{1};
    test::rings_in_memory rings{16};
    std::unique_ptr<worker_client> client = test::client_in_memory(1);
    std::vector<std::unique_ptr<worker_qp>> qps;
    std::size_t lent_by_one = 0;
    resting_queue_pairs resting;
    instant start{1s};
};

TEST_F(resting_queue_pairs_test, each_gives_back_when_it_has_been_idle_for_a_while)
{
    EXPECT_EQ(lent(), 3u);
    for (std::size_t n = 0; n < 3; ++n)
        resting.add(*qps[n], start + n * 1ms);
    resting.give_back(start + rest_after - 1ns);
    EXPECT_EQ(lent(), 3u);
    resting.give_back(start + rest_after);
    EXPECT_EQ(lent(), 2u);
    resting.give_back(start + rest_after + 2ms);
    EXPECT_EQ(pool.lent_bytes(), 0u);
}

TEST_F(resting_queue_pairs_test, whoever_was_busy_again_waits_anew)
{
    resting.add(*qps[0], start);
    resting.add(*qps[1], start + 1ms);
    resting.add(*qps[0], start + 5ms);
    resting.give_back(start + rest_after + 2ms);
    EXPECT_EQ(lent(), 2u) << "the second's has gone back";
    resting.give_back(start + rest_after + 5ms);
    EXPECT_EQ(lent(), 1u);
}

TEST_F(resting_queue_pairs_test, whoever_is_busy_or_gone_keeps_what_it_has)
{
    for (const auto &qp : qps)
        resting.add(*qp, start);
    qps[0]->active = true;
    resting.remove(*qps[1]);
    resting.give_back(start + rest_after);
    EXPECT_EQ(lent(), 2u);
}

} // namespace
} // namespace mrc::datapath
