// SPDX-License-Identifier: Apache-2.0
// What happens when the pool that queue pairs borrow from (slab_pool.h) has nothing to lend: a request is not taken, a
// packet is not sent, a packet that arrives is refused; and everything goes on as soon as there is memory again.
#include <cstddef>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "unit/protocol/pooled_hosts.h"

namespace mrc::protocol
{
namespace
{

constexpr std::uint32_t payload = pooled_hosts::payload_bytes;
// Holds all that a pool has to lend.
class drained
{
public:
    explicit drained(slab_pool &pool, std::size_t from_bytes = 1, std::size_t to_bytes = 65'536) : pool_{pool}
    {
        for (std::size_t bytes = from_bytes; bytes <= to_bytes; bytes += slab_pool::line_bytes)
            while (void *block = pool_.take(bytes))
                blocks_.emplace_back(block, bytes);
    }
    drained(const drained &) = delete;
    drained &operator=(const drained &) = delete;
    ~drained() { release(); }
    void release()
    {
        for (const auto &[block, bytes] : blocks_)
            pool_.give_back(block, bytes);
        blocks_.clear();
    }

private:
    slab_pool &pool_;
    std::vector<std::pair<void *, std::size_t>> blocks_;
};

struct pool_shortage : testing::Test {
    pool_shortage()
    {
        hosts.connect();
        hosts.connect();
        hosts.replenish();
    }
    [[nodiscard]] queue_pair &sender(std::size_t number = 0) { return *hosts.left.qps[number]; }
    [[nodiscard]] queue_pair &target() { return *hosts.right.qps[0]; }

    pooled_hosts hosts;
};

TEST_F(pool_shortage, request_is_not_taken_and_is_later)
{
    drained all{hosts.left.pool};
    EXPECT_FALSE(sender().can_post());
    const auto refused = sender().post_write({.source = {1, 0, payload}, .rkey = 1}, hosts.now);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), post_error::no_memory);
    EXPECT_EQ(sender().outstanding(), 0u);
    all.release();
    EXPECT_TRUE(sender().can_post());
    EXPECT_TRUE(hosts.post(0, payload));
}

TEST_F(pool_shortage, packet_waits_for_what_another_queue_pair_gives_back)
{
    ASSERT_TRUE(hosts.post(0, payload));
    ASSERT_TRUE(hosts.post(1, payload));
    const auto first = hosts.depart(sender(0));
    ASSERT_EQ(first.size(), 1u);
    const drained rest{hosts.left.pool};
    (void)hosts.left.pool.take_refused();
    EXPECT_TRUE(hosts.depart(sender(1)).empty());
    EXPECT_TRUE(hosts.left.pool.take_refused());
    EXPECT_EQ(sender(1).inflight_packets(), 0u);
    EXPECT_EQ(sender(1).limit(), send_limit::memory);
    EXPECT_EQ(sender(1).counters().tx_packets, 0u);

    hosts.arrive(target(), first);
    while (hosts.exchange(0))
        continue;
    ASSERT_TRUE(sender(0).next_completion());
    EXPECT_TRUE(hosts.depart(sender(1)).empty()) << "the first holds it still";
    sender(0).rest();
    while (hosts.exchange(1))
        continue;
    EXPECT_TRUE(sender(1).next_completion());
    EXPECT_EQ(sender(1).counters().tx_packets, 1u) << "it was not sent twice";
}

// What is under way never loses its place: the flight just does not become longer.
TEST_F(pool_shortage, flight_stays_as_long_as_its_memory)
{
    ASSERT_TRUE(hosts.post(0, 1000 * payload));
    drained longer{hosts.left.pool, 256 * sizeof(transmission), 1024 * sizeof(transmission)};
    EXPECT_EQ(hosts.depart(sender()).size(), 64u);
    EXPECT_TRUE(hosts.depart(sender()).empty());
    longer.release();
    EXPECT_GE(hosts.depart(sender()).size(), 192u);
}

TEST_F(pool_shortage, arrival_is_answered_no_bitmap_and_sent_again)
{
    ASSERT_TRUE(hosts.post(0, payload));
    const auto sent = hosts.depart(sender());
    ASSERT_EQ(sent.size(), 1u);
    drained all{hosts.right.pool};
    hosts.arrive(target(), sent);
    EXPECT_EQ(target().counters().rx_no_memory, 1u);
    EXPECT_EQ(target().counters().control_dropped, 1u) << "no memory for the answer either: the sender's timer helps";
    EXPECT_FALSE(target().has_answer());
    all.release();

    drained bitmaps{hosts.right.pool, 256, 256}; // of 1024 packets; answers are larger
    hosts.arrive(target(), sent);
    const auto answers = hosts.depart(target());
    bitmaps.release();
    ASSERT_EQ(answers.size(), 1u);
    const auto *nack = std::get_if<nack_packet>(&answers[0].content);
    ASSERT_NE(nack, nullptr);
    EXPECT_EQ(nack->reason, MRC_NACK_NO_BITMAP);
    EXPECT_EQ(hosts.right.memory.bytes, 0u);

    hosts.arrive(sender(), answers);
    for (int turn = 0; turn < 2000 && sender().outstanding() != 0; ++turn) {
        (void)hosts.exchange(0);
        (void)sender().next_completion();
    }
    EXPECT_EQ(sender().outstanding(), 0u);
    EXPECT_EQ(hosts.right.memory.bytes, payload) << "placed once";
    EXPECT_EQ(sender().counters().retransmits, 1u);
}

// An immediate takes a place, and a receive request: both are there before the packet counts as arrived.
TEST_F(pool_shortage, immediate_finds_its_receive_request_or_is_refused)
{
    ASSERT_TRUE(sender().post_write({.id = 1, .source = {1, 0, payload}, .rkey = 1, .immediate = 7}, hosts.now));
    const auto sent = hosts.depart(sender());
    drained all{hosts.right.pool, 1, 192}; // not bitmaps, not answers
    EXPECT_EQ(target().receives_wanted(), 0u) << "there is no memory for one";
    hosts.arrive(target(), sent);
    EXPECT_EQ(target().counters().rx_no_memory, 1u);
    EXPECT_EQ(target().state(), qp_state::ready_to_send) << "it has not failed for want of a receive request";
    all.release();
    ASSERT_EQ(target().receives_wanted(), 1u);
    ASSERT_TRUE(target().post_receive(5));
    hosts.arrive(target(), sent);
    const auto done = target().next_receive_completion();
    ASSERT_TRUE(done);
    EXPECT_EQ(done->immediate, 7u);
}

// 200 queue pairs share memory for a few: all messages arrive, and the pools stay within their limit.
TEST(small_pool, serves_everybody_in_the_end)
{
    constexpr std::size_t count = 200;
    constexpr std::size_t most_bytes = 150'000;
    pooled_hosts hosts{{.most_bytes = most_bytes, .spare_bytes = 4096}};
    for (std::size_t n = 0; n < count; ++n)
        hosts.connect();
    std::vector<bool> posted(count);
    std::vector<std::vector<outgoing>> under_way(count);
    std::size_t complete = 0;
    std::size_t waited = 0; // rounds in which somebody found nothing
    for (int round = 0; round < 5000 && complete < count; ++round) {
        hosts.replenish();
        for (std::size_t n = 0; n < count; ++n) {
            posted[n] = posted[n] || hosts.post(n, 300 * payload);
            under_way[n] = hosts.depart(*hosts.left.qps[n]);
        }
        for (std::size_t n = 0; n < count; ++n) {
            hosts.arrive(*hosts.right.qps[n], under_way[n]);
            (void)hosts.exchange(n);
            if (!hosts.left.qps[n]->next_completion())
                continue;
            ++complete;
            hosts.left.qps[n]->rest();
            hosts.right.qps[n]->rest();
        }
        waited += hosts.left.pool.take_refused() ? 1 : 0;
    }
    EXPECT_EQ(complete, count);
    EXPECT_GT(waited, 0u) << "there was enough for all";
    EXPECT_EQ(hosts.right.memory.bytes, std::uint64_t{count} * 300 * payload);
    EXPECT_LE(hosts.left.pool.held_bytes(), most_bytes);
    EXPECT_LE(hosts.right.pool.held_bytes(), most_bytes);
}

// An answer that comes after the memory has gone back says nothing, and does no harm.
TEST_F(pool_shortage, late_answers_to_a_queue_pair_at_rest_are_ignored)
{
    ASSERT_TRUE(hosts.post(0, 40 * payload));
    const auto packets = hosts.depart(sender());
    hosts.arrive(target(), packets);
    const auto answers = hosts.depart(target());
    hosts.arrive(sender(), answers);
    ASSERT_TRUE(sender().next_completion());
    sender().rest();
    target().rest();
    EXPECT_EQ(hosts.left.pool.lent_bytes(), 0u);
    EXPECT_EQ(hosts.right.pool.lent_bytes(), 0u);
    const qp_counters before = sender().counters();
    hosts.arrive(sender(), answers);
    EXPECT_GT(sender().counters().sacks_received, before.sacks_received);
    EXPECT_EQ(sender().counters().spurious, before.spurious);
    hosts.arrive(target(), packets);
    EXPECT_EQ(target().counters().rx_duplicates, packets.size());
    EXPECT_EQ(hosts.right.memory.bytes, 40u * payload);
}

} // namespace
} // namespace mrc::protocol
