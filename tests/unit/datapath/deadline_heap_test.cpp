// SPDX-License-Identifier: Apache-2.0
#include "datapath/deadline_heap.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/random_source.h"

namespace mrc::datapath
{
namespace
{

using protocol::instant;
using protocol::never;

constexpr std::size_t count = 200;

instant at(std::int64_t ns)
{
    return instant{std::chrono::nanoseconds{ns}};
}

struct waiting {
    std::size_t number = 0;
    deadline_place deadline;
};

struct deadline_heap_test : testing::Test {
    deadline_heap_test() : members(count), named(count, never) { heap.make_room(count); }
    // Against a plain list of what each waits for at the earliest.
    void expect_first()
    {
        const instant earliest = *std::ranges::min_element(named);
        ASSERT_EQ(heap.first_due(), earliest);
        if (earliest == never) {
            ASSERT_EQ(heap.first(), nullptr);
            return;
        }
        ASSERT_EQ(named[index_of(*heap.first())], earliest);
    }
    [[nodiscard]] std::size_t index_of(const waiting &one) const { return one.number; }

    std::deque<waiting> members;
    std::vector<instant> named;
    deadline_heap<waiting, &waiting::deadline> heap;
};

TEST_F(deadline_heap_test, knows_the_first_whatever_happens)
{
    for (std::size_t n = 0; n < count; ++n)
        members[n].number = n;
    protocol::random_source random{1};
    for (int step = 0; step < 20'000; ++step) {
        const std::size_t n = random.below(count);
        const instant due = random.below(8) == 0 ? never : at(random.below(1000));
        switch (random.below(4)) {
        case 0:
        case 1:
            heap.expect(members[n], due);
            named[n] = std::min(named[n], due);
            break;
        case 2:
            heap.remove(members[n]);
            named[n] = never;
            break;
        default:
            if (heap.first() == nullptr)
                break;
            named[index_of(*heap.first())] = due;
            heap.correct_first(due);
        }
        expect_first();
    }
}

TEST_F(deadline_heap_test, later_deadline_waits_until_the_earlier_one_comes_up)
{
    heap.expect(members[0], at(10));
    heap.expect(members[0], at(30));
    EXPECT_EQ(heap.first_due(), at(10));
    heap.expect(members[1], at(20));
    heap.correct_first(at(30));
    EXPECT_EQ(heap.first(), &members[1]);
    heap.correct_first(never);
    EXPECT_EQ(heap.first(), &members[0]);
    EXPECT_EQ(heap.first_due(), at(30));
    heap.correct_first(never);
    EXPECT_EQ(heap.first(), nullptr);
}

} // namespace
} // namespace mrc::datapath
