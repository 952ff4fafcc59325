// SPDX-License-Identifier: Apache-2.0
#include "datapath/work_ring.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::datapath
{
namespace
{

class work_ring : public testing::Test
{
protected:
    static constexpr queue_pair_layout layout{.send_capacity = 8, .completion_capacity = 4};

    work_ring() : memory(layout.bytes() / sizeof(cache_line) + 1) {}

    struct alignas(64) cache_line {
        std::byte bytes[64] = {};
    };
    std::vector<cache_line> memory;
    void *base() { return memory.data(); }
    ring_header &send_header() { return *static_cast<ring_header *>(base()); }
};

TEST_F(work_ring, entries_come_out_in_order)
{
    auto client = layout.sends(base());
    auto worker = layout.sends(base());
    send_entry entry;

    EXPECT_TRUE(worker.empty());
    for (std::uint64_t round = 0; round < 5; ++round) {
        for (std::uint64_t id = 0; id < 8; ++id)
            EXPECT_TRUE(client.push({.id = round * 8 + id}));
        EXPECT_TRUE(client.full());
        EXPECT_FALSE(client.push({.id = 999}));
        for (std::uint64_t id = 0; id < 8; ++id) {
            ASSERT_TRUE(worker.pop(entry));
            EXPECT_EQ(entry.id, round * 8 + id);
        }
        EXPECT_FALSE(worker.pop(entry));
    }
}

TEST_F(work_ring, sends_and_completions_do_not_overlap)
{
    auto sends = layout.sends(base());
    auto completions = layout.completions(base());
    for (std::uint64_t id = 0; id < 8; ++id)
        sends.push({.id = id});
    for (std::uint64_t id = 0; id < 4; ++id)
        completions.push({.id = 100 + id});

    auto seen_sends = layout.sends(base());
    auto seen_completions = layout.completions(base());
    send_entry sent;
    completion_entry completed;
    for (std::uint64_t id = 0; id < 8; ++id) {
        ASSERT_TRUE(seen_sends.pop(sent));
        EXPECT_EQ(sent.id, id);
    }
    for (std::uint64_t id = 0; id < 4; ++id) {
        ASSERT_TRUE(seen_completions.pop(completed));
        EXPECT_EQ(completed.id, 100 + id);
    }
}

TEST_F(work_ring, a_client_that_lies_about_its_index_reads_as_empty)
{
    auto worker = layout.sends(base());
    send_entry entry;

    for (const std::uint32_t lie : {9U, 1000U, 0x80000000U, 0xFFFFFFFFU}) {
        send_header().producer = lie;
        EXPECT_TRUE(worker.empty());
        EXPECT_FALSE(worker.pop(entry));
    }
    send_header().producer = 8;
    EXPECT_TRUE(worker.pop(entry));
}

TEST_F(work_ring, a_consumer_index_that_lies_makes_the_ring_full)
{
    auto client = layout.sends(base());
    send_header().consumer = 0x7FFFFFFF;
    EXPECT_TRUE(client.full());
    EXPECT_FALSE(client.push({}));
}

TEST_F(work_ring, indices_wrap)
{
    auto client = layout.sends(base());
    auto worker = layout.sends(base());
    send_entry entry;
    for (std::uint64_t id = 0; id < 100'000; ++id) {
        ASSERT_TRUE(client.push({.id = id}));
        ASSERT_TRUE(worker.pop(entry));
        ASSERT_EQ(entry.id, id);
    }
}

TEST_F(work_ring, two_threads_pass_every_entry_once)
{
    constexpr std::uint64_t count = 200'000;
    auto worker = layout.sends(base());
    std::thread producer{[this] {
        auto client = layout.sends(base());
        for (std::uint64_t id = 0; id < count;)
            if (client.push({.id = id, .length = ~id}))
                ++id;
            else
                std::this_thread::yield();
    }};
    send_entry entry;
    for (std::uint64_t id = 0; id < count;) {
        if (!worker.pop(entry)) {
            std::this_thread::yield();
            continue;
        }
        EXPECT_EQ(entry.id, id);
        EXPECT_EQ(entry.length, ~id);
        ++id;
    }
    producer.join();
}

TEST_F(work_ring, waiting_is_seen_by_the_other_side)
{
    auto client = layout.sends(base());
    auto worker = layout.sends(base());
    EXPECT_FALSE(client.consumer_waits());
    worker.set_waiting(true);
    EXPECT_TRUE(client.consumer_waits());
    worker.set_waiting(false);
    EXPECT_FALSE(client.consumer_waits());
}

} // namespace
} // namespace mrc::datapath
