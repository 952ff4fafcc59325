// SPDX-License-Identifier: Apache-2.0
#include "datapath/read_ahead.h"

#include <vector>

#include <gtest/gtest.h>

#include "unit/kernel/memory_client.h"
#include "unit/kernel/system_calls.h"

namespace mrc::datapath
{
namespace
{

constexpr std::size_t payload_bytes = 3072;
constexpr std::size_t piece = 10 * payload_bytes;
constexpr std::uint64_t page = 4096;

class read_ahead_test : public testing::Test
{
protected:
    // The n-th packet's bytes of a piece at the beginning of the client's memory.
    [[nodiscard]] bool read(std::size_t n, std::size_t of_bytes = piece)
    {
        const std::size_t offset = n * payload_bytes;
        return ahead_.read(*memory_, client_.address() + offset, into_, of_bytes - offset - payload_bytes);
    }
    [[nodiscard]] std::uint64_t calls_for_a_piece()
    {
        return test::system_calls_of([this] {
                   for (std::size_t n = 0; n < piece / payload_bytes; ++n) {
                       into_.assign(payload_bytes, std::byte{0});
                       EXPECT_TRUE(read(n));
                       EXPECT_EQ(into_, std::vector<std::byte>(payload_bytes, memory_client::pattern)) << n;
                   }
               })
            .reads;
    }
    void change(std::uint64_t offset)
    {
        ASSERT_TRUE(memory_->write(client_.address() + offset, std::vector<std::byte>(payload_bytes, std::byte{0xC3})));
    }

    memory_client client_;
    std::shared_ptr<const kernel::process_memory> memory_ =
        kernel::process_memory::adopt(client_.take_memory()).value();
    read_ahead ahead_;
    std::vector<std::byte> into_ = std::vector<std::byte>(payload_bytes);
};

TEST_F(read_ahead_test, the_packets_of_a_turn_are_read_by_one_call)
{
    ahead_.expect(UINT64_MAX);
    EXPECT_EQ(calls_for_a_piece(), 1U);
}

TEST_F(read_ahead_test, no_more_is_read_than_may_leave)
{
    ahead_.expect(2 * payload_bytes);
    EXPECT_EQ(calls_for_a_piece(), 5U);
    ahead_.forget();
    ahead_.expect(0); // sent again, alone
    EXPECT_EQ(calls_for_a_piece(), 10U);
}

// Bytes behind a piece may not have been posted yet.
TEST_F(read_ahead_test, nothing_behind_the_piece_is_read)
{
    ahead_.expect(UINT64_MAX);
    ASSERT_TRUE(read(0, 2 * payload_bytes));
    change(2 * payload_bytes);
    ASSERT_TRUE(read(2));
    EXPECT_EQ(into_[0], std::byte{0xC3});
}

TEST_F(read_ahead_test, the_next_turn_reads_anew)
{
    ahead_.expect(UINT64_MAX);
    ASSERT_TRUE(read(0));
    change(payload_bytes);
    ahead_.forget();
    ASSERT_TRUE(read(1));
    EXPECT_EQ(into_[0], std::byte{0xC3});
}

TEST_F(read_ahead_test, bytes_out_of_reach_fail_only_who_asks_for_them)
{
    client_.unmap(2 * page, page); // 8,192 to 12,288
    ahead_.expect(UINT64_MAX);
    EXPECT_TRUE(read(0));
    EXPECT_TRUE(read(1));
    EXPECT_FALSE(read(2)); // from 6,144 on
    EXPECT_FALSE(read(3));
    EXPECT_TRUE(read(4)); // from 12,288 on
}

TEST_F(read_ahead_test, bytes_of_one_process_are_not_given_for_another)
{
    memory_client other; // it may have its memory at the very same address
    const auto others = kernel::process_memory::adopt(other.take_memory()).value();
    change(0);
    change(payload_bytes);
    ahead_.expect(UINT64_MAX);
    ASSERT_TRUE(read(0));
    EXPECT_EQ(into_[0], std::byte{0xC3});
    const bool there = ahead_.read(*others, client_.address() + payload_bytes, into_, payload_bytes);
    EXPECT_TRUE(!there || into_[0] != std::byte{0xC3});
}

} // namespace
} // namespace mrc::datapath
