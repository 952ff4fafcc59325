// SPDX-License-Identifier: Apache-2.0
#include "datapath/region_table.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::datapath
{
namespace
{

using protocol::write_refusal;

constexpr std::uint64_t va = 0x7000'0000'0123;
constexpr std::size_t bytes = 1000;
constexpr protection_domain ours{.owner = 7, .number = 2};

class region_table_test : public testing::Test
{
protected:
    std::uint32_t add(std::uint32_t access, const protection_domain &domain = ours, std::uint64_t at = va)
    {
        file.reset(::memfd_create("region", MFD_CLOEXEC));
        EXPECT_EQ(::ftruncate(file.get(), bytes), 0);
        void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        return table
            .add({.access = access, .domain = domain, .va = at, .memory = {kernel::mapping{memory, bytes}, bytes}},
                 0x1234)
            .value_or(0);
    }
    [[nodiscard]] write_refusal refusal(std::uint32_t key, std::uint64_t at, std::size_t length,
                                        const protection_domain &domain = ours)
    {
        const std::vector<std::byte> payload(length, std::byte{0xEE});
        const auto result = table.write(domain, key, at, payload);
        EXPECT_FALSE(result.has_value());
        return result ? write_refusal::busy : result.error();
    }
    [[nodiscard]] std::vector<std::byte> content(std::uint32_t key)
    {
        std::vector<std::byte> all(bytes);
        EXPECT_TRUE(table.read(ours, key, va, all));
        return all;
    }
    [[nodiscard]] bool untouched(std::uint32_t key)
    {
        return std::ranges::all_of(content(key), [](std::byte b) { return b == std::byte{0}; });
    }

    region_table table;
    kernel::unique_fd file; // of the region added last
};

TEST_F(region_table_test, writes_land_where_they_are_addressed)
{
    const std::uint32_t key = add(session::access_remote_write);
    const std::array payload{std::byte{1}, std::byte{2}, std::byte{3}};

    ASSERT_TRUE(region_view(table, ours).write(key, va + 997, payload));
    const auto all = content(key);
    EXPECT_EQ(all[996], std::byte{0});
    EXPECT_TRUE(std::equal(payload.begin(), payload.end(), all.begin() + 997));
}

TEST_F(region_table_test, a_byte_outside_writes_nothing)
{
    const std::uint32_t key = add(session::access_remote_write);

    EXPECT_EQ(refusal(key, va - 1, 2), write_refusal::out_of_bounds);
    EXPECT_EQ(refusal(key, va + bytes - 1, 2), write_refusal::out_of_bounds);
    EXPECT_EQ(refusal(key, va + bytes + 1, 1), write_refusal::out_of_bounds);
    EXPECT_EQ(refusal(key, UINT64_MAX, 2), write_refusal::out_of_bounds);
    EXPECT_EQ(refusal(key, va, bytes + 1), write_refusal::out_of_bounds);
    EXPECT_TRUE(untouched(key));
}

TEST_F(region_table_test, keys_are_compared_whole)
{
    const std::uint32_t key = add(session::access_remote_write);

    EXPECT_EQ(refusal(key ^ 0x80000000, va, 1), write_refusal::unknown_key); // same row, other random bits
    EXPECT_EQ(refusal(key + 1, va, 1), write_refusal::unknown_key);
    EXPECT_EQ(refusal(0, va, 1), write_refusal::unknown_key);
    EXPECT_TRUE(untouched(key));
}

TEST_F(region_table_test, only_regions_with_remote_write_can_be_written)
{
    const std::uint32_t key = add(session::access_local_write);

    EXPECT_EQ(refusal(key, va, 1), write_refusal::no_permission);
    EXPECT_TRUE(untouched(key));
}

TEST_F(region_table_test, keys_work_in_their_own_domain_only)
{
    const std::uint32_t key = add(session::access_remote_write);
    constexpr protection_domain other_client{.owner = 8, .number = 2};
    constexpr protection_domain other_domain{.owner = 7, .number = 3};

    for (const protection_domain &foreign : {other_client, other_domain, protection_domain{}}) {
        std::array<std::byte, 1> byte{};
        EXPECT_EQ(refusal(key, va, 1, foreign), write_refusal::unknown_key);
        EXPECT_FALSE(region_view(table, foreign).read(key, va, byte));
    }
    EXPECT_TRUE(untouched(key));
}

TEST_F(region_table_test, empty_payload_is_not_checked)
{
    EXPECT_TRUE(table.write(ours, 0xDEAD, 0, {}));
}

TEST_F(region_table_test, reads_stay_inside)
{
    const std::uint32_t key = add(session::access_local_read);
    std::vector<std::byte> more(bytes + 1, std::byte{0xEE});

    EXPECT_TRUE(table.read(ours, key, va, std::span{more}.first(bytes)));
    more.assign(bytes + 1, std::byte{0xEE});
    for (const auto &[at, length] : {std::pair{va, bytes + 1}, std::pair{va - 1, std::size_t{1}},
                                     std::pair{va + bytes, std::size_t{1}}, std::pair{UINT64_MAX, std::size_t{2}}}) {
        EXPECT_FALSE(table.read(ours, key, at, {more.data(), length}));
    }
    EXPECT_FALSE(table.read(ours, key ^ 0x10000000, va, std::span{more}.first(1)));
    EXPECT_TRUE(std::ranges::all_of(more, [](std::byte b) { return b == std::byte{0xEE}; }));
}

TEST_F(region_table_test, a_region_at_the_end_of_the_address_space_does_not_wrap)
{
    const std::uint32_t key = add(session::access_remote_write, ours, UINT64_MAX - bytes);

    EXPECT_EQ(refusal(key, UINT64_MAX - 1, 3), write_refusal::out_of_bounds);
    EXPECT_EQ(refusal(key, 0, 1), write_refusal::out_of_bounds);
    std::vector<std::byte> all(bytes);
    EXPECT_TRUE(table.read(ours, key, UINT64_MAX - bytes, all));
}

TEST_F(region_table_test, memory_that_failed_is_as_good_as_deregistered)
{
    const std::uint32_t other = add(session::access_remote_write);
    const std::uint32_t key = add(session::access_remote_write);
    ASSERT_EQ(::ftruncate(file.get(), 0), 0);
    std::array<std::byte, 1> byte{};

    EXPECT_EQ(refusal(key, va, 1), write_refusal::unknown_key);
    EXPECT_FALSE(table.read(ours, key, va, byte));
    EXPECT_EQ(table.remove(key).key, key);
    EXPECT_TRUE(untouched(other));
}

TEST_F(region_table_test, removed_keys_are_refused_and_never_come_back_at_once)
{
    const std::uint32_t key = add(session::access_remote_write);

    EXPECT_EQ(table.remove(key ^ 0x10000000).key, 0U); // not this one
    EXPECT_EQ(table.remove(0).key, 0U);
    EXPECT_EQ(table.remove(key).memory.size(), bytes);
    EXPECT_EQ(refusal(key, va, 1), write_refusal::unknown_key);
    EXPECT_EQ(table.remove(key).key, 0U);
    for (std::uint32_t i = 0; i <= 2 * region_table::capacity; ++i) {
        const std::uint32_t next =
            table.add({.domain = ours, .memory = {}}, key >> 16).value_or(key); // the very same random bits
        ASSERT_NE(next, key);
        if (next << 16 == key << 16)
            break; // the row is in use again
        ASSERT_EQ(table.remove(next).key, next);
    }
}

TEST_F(region_table_test, says_when_it_is_full_and_gives_no_key_twice)
{
    std::unordered_set<std::uint32_t> keys;
    for (std::uint32_t i = 0; i < region_table::capacity; ++i)
        keys.insert(table.add({.domain = ours, .memory = {}}, 0).value_or(0));
    EXPECT_EQ(keys.size(), region_table::capacity);
    EXPECT_FALSE(keys.contains(0));
    memory_region refused{.domain = ours, .va = va, .memory = {}};
    EXPECT_FALSE(table.add(std::move(refused), 0));
    EXPECT_EQ(refused.va, va) << "stays with the caller"; // NOLINT(bugprone-use-after-move)

    EXPECT_EQ(table.remove(*keys.begin()).key, *keys.begin());
    EXPECT_TRUE(table.add({.domain = ours, .memory = {}}, 0));
}

} // namespace
} // namespace mrc::datapath
