// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/receive/pending_sacks.h"
#include "protocol/slab_pool.h"

namespace mrc::protocol
{
namespace
{

using outcome = pending_sacks::outcome;

sack_trigger on_path(std::uint32_t path, packet_number number)
{
    sack_trigger trigger;
    trigger.number = number;
    trigger.entropy = ev{path};
    trigger.path = path_index{path};
    return trigger;
}

TEST(pending_sacks, newest_of_a_path_takes_the_place_of_the_first)
{
    pending_sacks pending;
    EXPECT_EQ(pending.put(on_path(1, 10)), outcome::queued);
    EXPECT_EQ(pending.put(on_path(2, 11)), outcome::queued);
    EXPECT_EQ(pending.put(on_path(1, 12)), outcome::renewed);
    EXPECT_EQ(pending.pop().number, 12);
    EXPECT_EQ(pending.pop().number, 11);
    EXPECT_TRUE(pending.empty());
}

TEST(pending_sacks, marked_packet_gives_way_to_a_marked_one_only)
{
    pending_sacks pending;
    sack_trigger marked = on_path(1, 10);
    marked.congested = true;
    ASSERT_EQ(pending.put(marked), outcome::queued);
    ASSERT_EQ(pending.put(on_path(1, 11)), outcome::renewed);
    EXPECT_EQ(pending.front().number, 10);
    marked.number = 12;
    ASSERT_EQ(pending.put(marked), outcome::renewed);
    EXPECT_TRUE(pending.front().congested);
    EXPECT_EQ(pending.pop().number, 12);
    EXPECT_TRUE(pending.empty());
}

// A probe's id is waited for; a retransmission's answer acquits its path, or the one before.
TEST(pending_sacks, probes_and_retransmissions_are_answered_one_by_one)
{
    pending_sacks pending;
    sack_trigger probe = on_path(1, 10);
    probe.probe = true;
    sack_trigger again = on_path(1, 11);
    again.retransmission = true;
    for (const sack_trigger &each : {probe, again, on_path(1, 12), probe, again, on_path(1, 13)})
        ASSERT_NE(pending.put(each), outcome::displaced);
    for (const packet_number number : {10, 11, 13, 10, 11})
        EXPECT_EQ(pending.pop().number, number);
    EXPECT_TRUE(pending.empty());
}

// One per 16 KiB is what the sender reckons with.
TEST(pending_sacks, what_is_due_waits_beside_what_waits_already)
{
    pending_sacks pending;
    sack_trigger due = on_path(1, 10);
    due.due = true;
    EXPECT_EQ(pending.put(due), outcome::queued);
    due.number = 26;
    EXPECT_EQ(pending.put(due), outcome::queued);
    EXPECT_EQ(pending.put(on_path(1, 27)), outcome::renewed);
    EXPECT_EQ(pending.pop().number, 27);
    EXPECT_EQ(pending.pop().number, 26);
    EXPECT_TRUE(pending.empty());
}

TEST(pending_sacks, oldest_makes_room_for_the_newest)
{
    pending_sacks pending;
    for (std::uint32_t path = 0; path < pending_sacks::capacity; ++path)
        EXPECT_EQ(pending.put(on_path(path, path)), outcome::queued);
    EXPECT_EQ(pending.put(on_path(1000, 1000)), outcome::displaced);
    EXPECT_EQ(pending.front().number, 1);
    packet_number last = -1;
    for (std::size_t left = pending_sacks::capacity; left > 0; --left)
        last = pending.pop().number;
    EXPECT_EQ(last, 1000);
    EXPECT_TRUE(pending.empty());
}

// What waits is told of later than what has just come; and a queue that is empty takes nothing without memory.
TEST(pending_sacks, without_memory_for_more_the_oldest_goes_and_at_last_the_newest)
{
    constexpr std::size_t eight = slab_pool::size_at(slab_pool::size_index(8 * sizeof(sack_trigger)));
    slab_pool pool{{.most_bytes = eight, .spare_bytes = 0}};
    pending_sacks pending{&pool};
    EXPECT_EQ(pending.put(on_path(1, 10)), outcome::no_memory);
    EXPECT_TRUE(pending.empty());
    pending.announce();
    ASSERT_TRUE(pool.replenish());

    for (std::uint32_t path = 1; path <= 8; ++path)
        ASSERT_EQ(pending.put(on_path(path, path)), outcome::queued);
    EXPECT_EQ(pending.put(on_path(9, 9)), outcome::displaced);
    for (packet_number number = 2; number <= 9; ++number)
        EXPECT_EQ(pending.pop().number, number);
    EXPECT_TRUE(pending.empty());
    pending.rest();
    EXPECT_EQ(pool.lent_bytes(), 0u);
}

} // namespace
} // namespace mrc::protocol
