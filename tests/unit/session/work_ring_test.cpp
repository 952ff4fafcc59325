// SPDX-License-Identifier: Apache-2.0
#include "session/work_ring.h"

#include <algorithm>
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
    static constexpr session::queue_pair_layout layout{
        .send_capacity = 8, .receive_capacity = 4, .most_pieces = 3, .most_inline = 32};

    work_ring() : memory(layout.bytes() / sizeof(cache_line) + 1) {}

    struct alignas(64) cache_line {
        std::byte bytes[64] = {};
    };
    std::vector<cache_line> memory;
    void *base() { return memory.data(); }
    session::ring_header &send_header() { return *static_cast<session::ring_header *>(base()); }
};

TEST_F(work_ring, entries_come_out_in_order)
{
    auto client = layout.sends(base());
    auto worker = layout.sends(base());
    session::send_entry entry;

    EXPECT_TRUE(worker.empty());
    for (std::uint64_t round = 0; round < 5; ++round) {
        for (std::uint64_t id = 0; id < 8; ++id)
            EXPECT_TRUE(client.push({.id = round * 8 + id, .first = {}}));
        EXPECT_TRUE(client.full());
        EXPECT_FALSE(client.push({.id = 999, .first = {}}));
        for (std::uint64_t id = 0; id < 8; ++id) {
            ASSERT_TRUE(worker.pop(entry));
            EXPECT_EQ(entry.id, round * 8 + id);
        }
        EXPECT_FALSE(worker.pop(entry));
    }
}

// Everything of the layout written, each with its own mark, and found again.
TEST_F(work_ring, parts_do_not_overlap)
{
    auto sends = layout.sends(base());
    auto receives = layout.receives(base());
    for (std::uint32_t slot = 0; slot < 8; ++slot) {
        sends.push({.id = slot, .first = {}});
        for (std::uint32_t piece = 0; piece < 2; ++piece)
            layout.further_pieces(base(), slot)[piece] = {.address = slot, .length = piece, .lkey = 7};
        std::fill_n(layout.inline_bytes(base(), slot), 32, static_cast<std::byte>(slot));
    }
    for (std::uint64_t id = 0; id < 4; ++id)
        receives.push({.id = 100 + id});

    auto seen_sends = layout.sends(base());
    auto seen_receives = layout.receives(base());
    session::send_entry sent;
    session::receive_entry received;
    for (std::uint32_t slot = 0; slot < 8; ++slot) {
        ASSERT_TRUE(seen_sends.pop(sent));
        EXPECT_EQ(sent.id, slot);
        for (std::uint32_t piece = 0; piece < 2; ++piece) {
            EXPECT_EQ(layout.further_pieces(base(), slot)[piece].address, slot);
            EXPECT_EQ(layout.further_pieces(base(), slot)[piece].length, piece);
        }
        EXPECT_EQ(std::count(layout.inline_bytes(base(), slot), layout.inline_bytes(base(), slot) + 32,
                             static_cast<std::byte>(slot)),
                  32);
    }
    for (std::uint64_t id = 0; id < 4; ++id) {
        ASSERT_TRUE(seen_receives.pop(received));
        EXPECT_EQ(received.id, 100 + id);
    }
    EXPECT_EQ(reinterpret_cast<std::byte *>(memory.data()) + layout.bytes(), layout.inline_bytes(base(), 8));
}

TEST_F(work_ring, restarts_empty)
{
    auto client = layout.sends(base());
    auto worker = layout.sends(base());
    session::send_entry entry;
    client.push({.id = 1, .first = {}});
    client.push({.id = 2, .first = {}});
    ASSERT_TRUE(worker.pop(entry));
    worker.restart(true);
    client.restart(false);
    EXPECT_TRUE(worker.empty());
    EXPECT_EQ(client.position(), 0u);
    client.push({.id = 3, .first = {}});
    ASSERT_TRUE(worker.pop(entry));
    EXPECT_EQ(entry.id, 3u);
}

TEST_F(work_ring, a_client_that_lies_about_its_index_reads_as_empty)
{
    auto worker = layout.sends(base());
    session::send_entry entry;

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
    session::send_entry entry;
    for (std::uint64_t id = 0; id < 100'000; ++id) {
        ASSERT_TRUE(client.push({.id = id, .first = {}}));
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
            if (client.push({.id = id, .remote_address = ~id, .first = {}}))
                ++id;
            else
                std::this_thread::yield();
    }};
    session::send_entry entry;
    for (std::uint64_t id = 0; id < count;) {
        if (!worker.pop(entry)) {
            std::this_thread::yield();
            continue;
        }
        EXPECT_EQ(entry.id, id);
        EXPECT_EQ(entry.remote_address, ~id);
        ++id;
    }
    producer.join();
}

TEST_F(work_ring, one_signal_for_each_arming)
{
    session::ring_header &header = send_header();
    EXPECT_FALSE(session::take_signal(header, true)) << "nobody asked";
    arm(header, session::arming::any);
    EXPECT_TRUE(session::take_signal(header, false));
    EXPECT_FALSE(session::take_signal(header, true));
    arm(header, session::arming::solicited);
    EXPECT_FALSE(session::take_signal(header, false));
    EXPECT_TRUE(session::take_signal(header, true));
    arm(header, session::arming::any);
    arm(header, session::arming::solicited); // by somebody else, before the first one has had its signal
    EXPECT_TRUE(session::take_signal(header, false)) << "armed for any completion, by whoever came first";
    EXPECT_FALSE(session::take_signal(header, true));
    arm(header, session::arming::solicited);
    arm(header, session::arming::any);
    EXPECT_TRUE(session::take_signal(header, false));
    header.armed = 77; // a client that lies
    EXPECT_TRUE(session::take_signal(header, false));
}

TEST(bell_page_test, each_bell_is_answered_once)
{
    session::bell_page page;
    std::vector<std::uint32_t> heard;
    const auto listen = [&] { page.answer([&](std::uint32_t bell) { heard.push_back(bell); }); };
    EXPECT_FALSE(page.any());
    for (const std::uint32_t bell : {0U, 63U, 64U, 4095U, 64U})
        page.ring(bell);
    EXPECT_TRUE(page.any());
    listen();
    EXPECT_EQ(heard, (std::vector<std::uint32_t>{0, 63, 64, 4095}));
    heard.clear();
    listen();
    EXPECT_TRUE(heard.empty());
    EXPECT_FALSE(page.any());
}

} // namespace
} // namespace mrc::datapath
