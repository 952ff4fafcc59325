// SPDX-License-Identifier: Apache-2.0
#include "datapath/posted_sends.h"

#include <array>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

namespace mrc::datapath
{
namespace
{

constexpr protection_domain ours{.owner = 1, .number = 1};
constexpr std::uint64_t va = 0x1000;
constexpr std::size_t bytes = 256;
constexpr session::queue_pair_layout layout{
    .send_capacity = 4, .receive_capacity = 0, .most_pieces = 3, .most_inline = 32};

// A region whose byte at va + n is n, and a queue pair's rings in ordinary memory.
class posted_sends_test : public testing::Test
{
protected:
    posted_sends_test() : rings_(layout.bytes()), sends_{layout, rings_.data()}
    {
        const kernel::unique_fd file{::memfd_create("region", MFD_CLOEXEC)};
        EXPECT_EQ(::ftruncate(file.get(), bytes), 0);
        void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        std::iota(static_cast<std::uint8_t *>(memory), static_cast<std::uint8_t *>(memory) + bytes, std::uint8_t{0});
        key_ = table_
                   .add({.access = session::access_local_write,
                         .domain = ours,
                         .va = va,
                         .memory = {kernel::mapping{memory, bytes}, bytes}},
                        1)
                   .value_or(0);
    }
    [[nodiscard]] session::gather_entry piece(std::uint64_t offset, std::uint32_t length) const
    {
        return {.address = va + offset, .length = length, .lkey = key_};
    }
    [[nodiscard]] std::vector<unsigned> read(std::uint32_t slot, std::uint64_t offset, std::size_t length)
    {
        std::vector<std::byte> to(length);
        if (!sends_.read(slot, offset, to, memory_, ahead_))
            return {};
        std::vector<unsigned> numbers;
        for (const std::byte one : to)
            numbers.push_back(std::to_integer<unsigned>(one));
        return numbers;
    }

    std::vector<std::byte> rings_;
    posted_sends sends_;
    region_table table_;
    region_view memory_{table_, ours};
    read_ahead ahead_;
    std::uint32_t key_ = 0;
};

TEST_F(posted_sends_test, a_message_is_gathered_from_its_pieces)
{
    session::send_entry entry{.id = 77, .flags = session::send_immediate, .pieces = 3, .first = piece(10, 4)};
    session::gather_entry *further = layout.further_pieces(rings_.data(), 1);
    further[0] = piece(100, 0);
    further[1] = piece(200, 8);
    const auto taken = sends_.take(1, entry);
    EXPECT_TRUE(taken.valid);
    EXPECT_EQ(taken.bytes, 12U);
    EXPECT_EQ(sends_.id(1), 77U);
    EXPECT_TRUE(sends_.immediate(1));
    EXPECT_EQ(read(1, 2, 5), (std::vector<unsigned>{12, 13, 200, 201, 202}));
    EXPECT_EQ(read(1, 11, 1), std::vector<unsigned>{207});
    EXPECT_TRUE(read(1, 8, 5).empty()) << "beyond the message";
}

TEST_F(posted_sends_test, what_the_client_changes_afterwards_changes_nothing)
{
    session::gather_entry *further = layout.further_pieces(rings_.data(), 0);
    further[0] = piece(100, 4);
    ASSERT_TRUE(sends_.take(0, {.id = 1, .pieces = 2, .first = piece(0, 4)}).valid);
    further[0] = piece(200, 4);
    EXPECT_EQ(read(0, 4, 4), (std::vector<unsigned>{100, 101, 102, 103}));
}

TEST_F(posted_sends_test, more_pieces_or_inline_bytes_than_agreed_are_invalid)
{
    EXPECT_FALSE(sends_.take(0, {.id = 1, .pieces = 4, .first = piece(0, 4)}).valid);
    session::send_entry entry{.id = 2, .flags = session::send_inline, .first = {}};
    entry.first.length = 33;
    EXPECT_FALSE(sends_.take(0, entry).valid);
    entry.first.length = 32;
    EXPECT_TRUE(sends_.take(0, entry).valid);
}

TEST_F(posted_sends_test, inline_bytes_come_from_the_ring)
{
    std::memset(layout.inline_bytes(rings_.data(), 2), 0x5A, 32);
    session::send_entry entry{.id = 3, .flags = session::send_inline, .first = {}};
    entry.first.length = 5;
    EXPECT_EQ(sends_.take(2, entry).bytes, 5U);
    EXPECT_EQ(read(2, 0, 5), std::vector<unsigned>(5, 0x5A));
}

TEST_F(posted_sends_test, a_key_that_is_not_the_clients_is_a_protection_error)
{
    session::gather_entry wrong = piece(0, 4);
    wrong.lkey = key_ + 1;
    ASSERT_TRUE(sends_.take(0, {.id = 1, .pieces = 1, .first = wrong}).valid);
    EXPECT_TRUE(read(0, 0, 4).empty());
    ASSERT_TRUE(sends_.take(0, {.id = 1, .pieces = 1, .first = piece(bytes - 2, 4)}).valid);
    EXPECT_TRUE(read(0, 0, 4).empty()) << "beyond the region";
}

// Memory is borrowed as requests are taken, moves as there are more of them, and goes back when all are complete.
TEST_F(posted_sends_test, requests_are_kept_in_borrowed_memory_across_the_end_of_positions)
{
    constexpr session::queue_pair_layout deep{.send_capacity = 64, .receive_capacity = 0, .most_pieces = 3};
    std::vector<std::byte> rings(deep.bytes());
    protocol::slab_pool pool;
    posted_sends sends{deep, rings.data(), &pool};
    sends.announce();
    (void)pool.replenish();
    EXPECT_EQ(pool.lent_bytes(), 0U);
    const std::uint32_t first = UINT32_MAX - 20;
    for (std::uint32_t n = 0; n < 64; ++n) {
        ASSERT_TRUE(sends.make_room(first + n, n));
        EXPECT_TRUE(sends.take(first + n, {.id = n, .pieces = 1, .first = piece(n, 4)}).valid);
    }
    for (std::uint32_t n = 0; n < 64; ++n) {
        std::array<std::byte, 4> to{};
        EXPECT_EQ(sends.id(first + n), n);
        ASSERT_TRUE(sends.read((first + n) % 64, 0, to, memory_, ahead_));
        EXPECT_EQ(std::to_integer<std::uint32_t>(to[0]), n);
    }
    sends.rest(1);
    EXPECT_NE(pool.lent_bytes(), 0U);
    sends.rest(0);
    EXPECT_EQ(pool.lent_bytes(), 0U);
}

} // namespace
} // namespace mrc::datapath
