// SPDX-License-Identifier: Apache-2.0
// What queue pairs occupy, in bytes of the heap: connected and at rest, and while some of many are busy. Everything is
// counted that malloc hands out between two looks, and what the pool has taken.
#include <cstdio>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>
#include <malloc.h>

#include "protocol/congestion/nscc.h"
#include "unit/protocol/pooled_hosts.h"

namespace
{

std::size_t live_bytes = 0;

void *counted(void *memory)
{
    if (memory == nullptr)
        throw std::bad_alloc{};
    live_bytes += malloc_usable_size(memory);
    return memory;
}

} // namespace

// Not inlined: the compiler would see malloc beside delete, and free beside new.
[[gnu::noinline]] void *operator new(std::size_t bytes)
{
    return counted(std::malloc(bytes));
}

[[gnu::noinline]] void *operator new(std::size_t bytes, std::align_val_t alignment)
{
    return counted(std::aligned_alloc(static_cast<std::size_t>(alignment), bytes));
}

[[gnu::noinline]] void operator delete(void *memory) noexcept
{
    live_bytes -= malloc_usable_size(memory);
    std::free(memory);
}

[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept
{
    operator delete(memory);
}

[[gnu::noinline]] void operator delete(void *memory, std::align_val_t) noexcept
{
    operator delete(memory);
}

namespace mrc::protocol
{
namespace
{

constexpr std::size_t idle_bytes = 2048;
constexpr std::size_t idle = 10'000;
constexpr std::size_t busy = 100;
constexpr std::size_t all_bytes = 100'000'000;

// Both hosts live in this process: one's share is half.
struct measured_hosts : pooled_hosts {
    explicit measured_hosts(std::size_t queue_pairs, const slab_limits &limits = {}) : pooled_hosts{limits}
    {
        left.qps.reserve(queue_pairs);
        right.qps.reserve(queue_pairs);
        before = live_bytes;
        for (std::size_t n = 0; n < queue_pairs; ++n)
            connect();
        connected = live_bytes;
        replenish();
    }
    // One message each, all under way at the same time.
    void all_exchange_a_message()
    {
        for (std::size_t n = 0; n < left.qps.size(); ++n) {
            ASSERT_TRUE(post(n, 8 * payload_bytes));
            waves.push_back(depart(*left.qps[n]));
            replenish();
        }
        for (std::size_t n = 0; n < left.qps.size(); ++n) {
            arrive(*right.qps[n], waves[n]);
            replenish();
        }
        waves.clear();
        waves.shrink_to_fit();
        for (std::size_t n = 0; n < left.qps.size(); ++n) {
            while (exchange(n))
                replenish();
            ASSERT_TRUE(left.qps[n]->next_completion()) << n;
        }
    }
    void all_rest()
    {
        for (const auto *qps : {&left.qps, &right.qps})
            for (const auto &qp : *qps)
                qp->rest();
    }
    [[nodiscard]] std::size_t bytes_of_a_host() const { return (live_bytes - before) / 2; }

    std::size_t before = 0;
    std::size_t connected = 0; // and nothing is borrowed yet
    std::vector<std::vector<outgoing>> waves;
};

TEST(queue_pair_size, connected_and_at_rest_is_2_kb)
{
    constexpr std::size_t count = 100;
    measured_hosts hosts{count};
    hosts.all_exchange_a_message();
    hosts.all_rest();
    EXPECT_EQ(hosts.left.pool.lent_bytes(), 0u) << "nothing is borrowed";
    EXPECT_EQ(hosts.right.pool.lent_bytes(), 0u) << "nothing is borrowed";
    const std::size_t each = (hosts.connected - hosts.before) / (2 * count);
    std::printf("queue pair at rest: %zu bytes, of which %zu are the object; a controller of its own: %zu\n", each,
                sizeof(queue_pair), sizeof(nscc));
    EXPECT_LE(each, idle_bytes);
}

// 10,000 that have all had a message under way at once, and 100 with full windows.
TEST(queue_pair_size, ten_thousand_idle_and_a_hundred_busy_are_less_than_100_mb)
{
    measured_hosts hosts{idle + busy};
    hosts.all_exchange_a_message();
    hosts.all_rest();
    for (std::size_t n = 0; n < busy; ++n) {
        ASSERT_TRUE(hosts.post(n, 4096 * pooled_hosts::payload_bytes));
        std::vector<outgoing> packets = hosts.depart(*hosts.left.qps[n]);
        while (hosts.left.pool.replenish())
            for (const outgoing &more : hosts.depart(*hosts.left.qps[n]))
                packets.push_back(more);
        EXPECT_EQ(hosts.left.qps[n]->inflight_packets(), 1023u);
        packets.erase(packets.begin()); // all the others wait for the first
        hosts.arrive(*hosts.right.qps[n], packets);
        hosts.replenish();
    }
    std::printf("%zu idle and %zu busy: %.1f MB, pools of %.1f and %.1f MB, of which %.1f and %.1f are lent\n", idle,
                busy, static_cast<double>(hosts.bytes_of_a_host()) / 1e6,
                static_cast<double>(hosts.left.pool.held_bytes()) / 1e6,
                static_cast<double>(hosts.right.pool.held_bytes()) / 1e6,
                static_cast<double>(hosts.left.pool.lent_bytes()) / 1e6,
                static_cast<double>(hosts.right.pool.lent_bytes()) / 1e6);
    EXPECT_LE(hosts.bytes_of_a_host(), all_bytes);
}

} // namespace
} // namespace mrc::protocol
