// SPDX-License-Identifier: Apache-2.0
#include "datapath/region_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::datapath
{
namespace
{

using protocol::write_refusal;

constexpr std::uint64_t va = 0x7000'0000'0123;
constexpr std::size_t bytes = 1000;

class region_table_test : public testing::Test
{
protected:
    std::uint32_t add(std::uint32_t access, std::uint32_t random = 0x12345678)
    {
        const std::uint32_t key = table.free_key(random).value();
        void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        table.add({.key = key, .va = va, .access = access, .memory = {memory, bytes}});
        return key;
    }
    [[nodiscard]] write_refusal refusal(std::uint32_t key, std::uint64_t at, std::size_t length)
    {
        const std::vector<std::byte> payload(length, std::byte{0xEE});
        const auto result = table.write(key, at, payload);
        EXPECT_FALSE(result.has_value());
        return result ? write_refusal::fault : result.error();
    }
    [[nodiscard]] bool untouched(std::uint32_t key)
    {
        const auto all = table.read(key, va, bytes).value();
        return std::ranges::all_of(all, [](std::byte b) { return b == std::byte{0}; });
    }

    region_table table;
};

TEST_F(region_table_test, writes_land_where_they_are_addressed)
{
    const std::uint32_t key = add(access_remote_write);
    const std::array payload{std::byte{1}, std::byte{2}, std::byte{3}};

    ASSERT_TRUE(table.write(key, va + 997, payload));
    const auto all = table.read(key, va, bytes).value();
    EXPECT_EQ(all[996], std::byte{0});
    EXPECT_TRUE(std::ranges::equal(all.subspan(997), payload));
}

TEST_F(region_table_test, a_byte_outside_writes_nothing)
{
    const std::uint32_t key = add(access_remote_write);

    EXPECT_EQ(refusal(key, va - 1, 2), write_refusal::out_of_bounds);
    EXPECT_EQ(refusal(key, va + bytes - 1, 2), write_refusal::out_of_bounds);
    EXPECT_EQ(refusal(key, va + bytes + 1, 1), write_refusal::out_of_bounds);
    EXPECT_EQ(refusal(key, UINT64_MAX, 2), write_refusal::out_of_bounds);
    EXPECT_EQ(refusal(key, va, bytes + 1), write_refusal::out_of_bounds);
    EXPECT_TRUE(untouched(key));
}

TEST_F(region_table_test, keys_are_compared_whole)
{
    const std::uint32_t key = add(access_remote_write);

    EXPECT_EQ(refusal(key ^ 0x80000000, va, 1), write_refusal::unknown_key); // same row, other random bits
    EXPECT_EQ(refusal(key + 1, va, 1), write_refusal::unknown_key);
    EXPECT_EQ(refusal(0, va, 1), write_refusal::unknown_key);
    EXPECT_TRUE(untouched(key));
}

TEST_F(region_table_test, only_regions_with_remote_write_can_be_written)
{
    const std::uint32_t key = add(access_local_read);

    EXPECT_EQ(refusal(key, va, 1), write_refusal::no_permission);
    EXPECT_TRUE(untouched(key));
}

TEST_F(region_table_test, empty_payload_is_not_checked)
{
    EXPECT_TRUE(table.write(0xDEAD, 0, {}));
}

TEST_F(region_table_test, reads_stay_inside)
{
    const std::uint32_t key = add(access_local_read);

    EXPECT_EQ(table.read(key, va, bytes).value().size(), bytes);
    EXPECT_FALSE(table.read(key, va, bytes + 1));
    EXPECT_FALSE(table.read(key, va - 1, 1));
    EXPECT_FALSE(table.read(key ^ 0x10000000, va, 1));
}

TEST_F(region_table_test, removed_keys_are_refused_and_rows_reused)
{
    const std::uint32_t key = add(access_remote_write);

    EXPECT_EQ(table.remove(key ^ 0x10000000).key, 0U); // not this one
    EXPECT_EQ(table.remove(key).key, key);
    EXPECT_EQ(refusal(key, va, 1), write_refusal::unknown_key);
    EXPECT_EQ(table.free_key(0x12345678), key);
}

TEST_F(region_table_test, says_when_it_is_full)
{
    for (std::uint32_t i = 0; i < region_table::capacity; ++i)
        table.add({.key = table.free_key(0xABC00000).value(), .va = va, .access = 0, .memory = {}});
    EXPECT_FALSE(table.free_key(0));
}

} // namespace
} // namespace mrc::datapath
