// SPDX-License-Identifier: Apache-2.0
#include "nccl_plugin/clear_to_send.h"

#include <gtest/gtest.h>

namespace mrc::nccl_plugin
{
namespace
{

clear_to_send group(std::initializer_list<std::uint32_t> tags)
{
    clear_to_send made{.slot = 77, .count = 0, .buffers = {}};
    for (const std::uint32_t tag : tags) {
        made.buffers.at(made.count) = {
            .address = 0x7F0012345000U + made.count, .rkey = 9 + made.count, .room = 1000, .tag = tag};
        ++made.count;
    }
    return made;
}

TEST(clear_to_send, survives_the_way)
{
    for (const clear_to_send &one : {group({1}), group({1, 2, 3}), group({8, 7, 6, 5, 4, 3, 2, ~0U})}) {
        const auto bytes = one.encode();
        EXPECT_LE(bytes.size(), clear_to_send::most_bytes);
        EXPECT_EQ(clear_to_send::decode(bytes), one);
    }
}

TEST(clear_to_send, refuses_what_is_none)
{
    EXPECT_FALSE(clear_to_send::decode({}));
    auto bytes = group({1, 2}).encode();
    EXPECT_FALSE(clear_to_send::decode(std::span{bytes}.first(bytes.size() - 1)));
    bytes.push_back({});
    EXPECT_FALSE(clear_to_send::decode(bytes));
    bytes = group({1}).encode();
    bytes[0] = std::byte{0xFF}; // a slot that no immediate can name
    EXPECT_FALSE(clear_to_send::decode(bytes));
    bytes = group({}).encode();
    EXPECT_FALSE(clear_to_send::decode(bytes));
    bytes = group({1, 2, 3, 4, 5, 6, 7, 8}).encode();
    bytes[7] = std::byte{9};
    bytes.resize(bytes.size() + 20);
    EXPECT_FALSE(clear_to_send::decode(bytes));
}

TEST(send_target, gives_each_send_the_first_free_buffer_of_its_tag)
{
    send_target target{group({5, 9, 5})};
    EXPECT_FALSE(target.find(7));
    for (const auto &[tag, index] : {std::pair{9U, 1U}, std::pair{5U, 0U}, std::pair{5U, 2U}}) {
        EXPECT_FALSE(target.all_taken());
        ASSERT_EQ(target.find(tag), index);
        target.take(index);
    }
    EXPECT_TRUE(target.all_taken());
    EXPECT_FALSE(target.find(5));
    EXPECT_FALSE(target.find(9));
}

TEST(arrival_place, fits_into_an_immediate)
{
    constexpr std::uint32_t bits = 28; // of messaging::immediate
    const arrival_place last{.slot = arrival_place::slots - 1, .buffer = most_grouped - 1};
    EXPECT_LT(last.encode(), 1U << bits);
    EXPECT_EQ(arrival_place::decode(last.encode()).slot, last.slot);
    EXPECT_EQ(arrival_place::decode(last.encode()).buffer, last.buffer);
}

} // namespace
} // namespace mrc::nccl_plugin
