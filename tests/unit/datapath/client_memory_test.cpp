// SPDX-License-Identifier: Apache-2.0
#include "datapath/client_memory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/falloc.h>
#include <sys/stat.h>

namespace mrc::datapath
{
namespace
{

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t huge_page = 2 << 20;

kernel::unique_fd memory_file(std::uint64_t bytes, unsigned flags = 0)
{
    kernel::unique_fd file{::memfd_create("client", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags)};
    if (file && ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
        file.reset();
    return file;
}

// As a client's library has it before it offers the file.
kernel::unique_fd allocated(kernel::unique_fd file, std::uint64_t bytes)
{
    const std::vector<std::byte> zeros(bytes); // fallocate() would not do: what it allocates still counts as a hole
    EXPECT_EQ(::pwrite(file.get(), zeros.data(), bytes, 0), static_cast<ssize_t>(bytes));
    return file;
}

kernel::mapping map_file(const kernel::unique_fd &file, std::uint64_t bytes)
{
    return {::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0), bytes};
}

kernel::unique_fd sealed(kernel::unique_fd file)
{
    EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    return file;
}

const std::vector<std::byte> payload(3072, std::byte{0xC3});

bool copies_both_ways(client_memory &memory, std::uint64_t offset)
{
    std::vector<std::byte> back(payload.size());
    return memory.copy_in(offset, payload) && memory.copy_out(offset, back) && back == payload;
}

std::string refusal(const kernel::unique_fd &file, std::uint64_t offset, std::uint64_t bytes)
{
    const auto mapped = map_shared(file, offset, bytes);
    return mapped ? std::string{} : mapped.error().text;
}

TEST(client_memory_test, shared_bytes_are_the_clients)
{
    const kernel::unique_fd file = sealed(allocated(memory_file(4 * page), 4 * page));
    const kernel::mapping clients = map_file(file, 4 * page);
    client_memory memory = map_shared(file, page, 3 * page - 1).value();

    EXPECT_EQ(memory.size(), 3 * page - 1);
    EXPECT_TRUE(copies_both_ways(memory, 17));
    EXPECT_EQ(clients.bytes()[page + 16], std::byte{0});
    EXPECT_TRUE(std::ranges::equal(clients.bytes().subspan(page + 17, payload.size()), payload));
}

// A program may register from the middle of an allocation on: that is no reason for the slow way.
TEST(client_memory_test, shared_bytes_may_begin_anywhere_in_a_page)
{
    const kernel::unique_fd file = sealed(allocated(memory_file(4 * page), 4 * page));
    const kernel::mapping clients = map_file(file, 4 * page);
    const std::uint64_t begin = page + 100;
    client_memory memory = map_shared(file, begin, 3 * page - 100).value(); // to the end of the file

    EXPECT_EQ(memory.size(), 3 * page - 100);
    EXPECT_TRUE(copies_both_ways(memory, 0));
    EXPECT_EQ(clients.bytes()[begin - 1], std::byte{0});
    EXPECT_TRUE(std::ranges::equal(clients.bytes().subspan(begin, payload.size()), payload));
    EXPECT_TRUE(copies_both_ways(memory, memory.size() - payload.size()));
    EXPECT_TRUE(std::ranges::equal(clients.bytes().last(payload.size()), payload));
    EXPECT_NE(refusal(file, begin, 3 * page - 99).find("outside"), std::string::npos);
}

// Of the process, in kB.
std::uint64_t locked_kb()
{
    std::ifstream status{"/proc/self/status"};
    for (std::string word; status >> word;)
        if (std::uint64_t kb = 0; word == "VmLck:" && status >> kb)
            return kb;
    ADD_FAILURE() << "no VmLck";
    return 0;
}

TEST(client_memory_test, shared_pages_are_locked_as_long_as_they_are_mapped)
{
    const kernel::unique_fd file = sealed(allocated(memory_file(4 * page), 4 * page));
    const std::uint64_t before = locked_kb();
    {
        const auto memory = map_shared(file, 0, 4 * page);
        ASSERT_TRUE(memory);
        EXPECT_EQ(locked_kb(), before + 4 * page / 1024);
    }
    EXPECT_EQ(locked_kb(), before);
}

TEST(client_memory_test, maps_only_ranges_of_files_that_cannot_shrink)
{
    const kernel::unique_fd file = sealed(allocated(memory_file(4 * page), 4 * page));

    EXPECT_EQ(refusal(file, 0, 4 * page), "");
    EXPECT_NE(refusal(memory_file(page), 0, page).find("F_SEAL_SHRINK"), std::string::npos);
    EXPECT_NE(refusal(kernel::unique_fd{::open("/dev/zero", O_RDWR | O_CLOEXEC)}, 0, page).find("F_SEAL_SHRINK"),
              std::string::npos);
    EXPECT_NE(refusal(kernel::unique_fd{}, 0, page), "");
    EXPECT_NE(refusal(file, 0, 0).find("outside"), std::string::npos);
    EXPECT_NE(refusal(file, page, 4 * page).find("outside"), std::string::npos);
    EXPECT_NE(refusal(file, 5 * page, 1).find("outside"), std::string::npos);
    EXPECT_NE(refusal(file, page, UINT64_MAX).find("outside"), std::string::npos);
    EXPECT_NE(refusal(file, UINT64_MAX - page + 1, page).find("outside"), std::string::npos);
}

TEST(client_memory_test, a_file_with_holes_is_refused_and_stays_sparse)
{
    constexpr std::uint64_t size = 64 * page;
    const kernel::unique_fd file = sealed(allocated(memory_file(size), 3 * page));
    EXPECT_NE(refusal(file, 0, size).find("hole at byte 12288"), std::string::npos);
    EXPECT_NE(refusal(file, 5 * page, page).find("hole"), std::string::npos);
    EXPECT_EQ(refusal(file, 0, 3 * page), ""); // what is there
    EXPECT_EQ(refusal(file, page, 2 * page - 1), "");
    struct stat status{};
    ASSERT_EQ(::fstat(file.get(), &status), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(status.st_blocks) * 512, 3 * page) << "nothing is populated for the client";
}

// Sealing prevents this very case; it stands here for every page that cannot be had.
TEST(client_memory_test, a_file_cut_short_breaks_its_region_and_no_other)
{
    const kernel::unique_fd file = memory_file(2 * page);
    client_memory memory{map_file(file, 2 * page), 2 * page};
    client_memory other = map_shared(sealed(allocated(memory_file(page), page)), 0, page).value();
    ASSERT_TRUE(copies_both_ways(memory, page));

    ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(page)), 0);
    EXPECT_FALSE(memory.copy_in(page - 100, payload));
    EXPECT_TRUE(memory.broken());
    EXPECT_FALSE(memory.copy_in(0, payload)); // although this page is still there
    EXPECT_TRUE(copies_both_ways(other, 0));
    EXPECT_FALSE(other.broken());
}

TEST(client_memory_test, the_guard_holds_again_and_again)
{
    std::vector<std::byte> back(payload.size());
    for (int i = 0; i < 1000; ++i) {
        const kernel::unique_fd file = memory_file(page);
        client_memory memory{map_file(file, page), page};
        ASSERT_EQ(::ftruncate(file.get(), 0), 0);
        ASSERT_FALSE(memory.copy_out(0, back));
    }
}

// Pages of the range that are mapped, of those that exist (proc_pid_pagemap(5)).
std::size_t mapped_pages(const std::byte *from, std::size_t pages)
{
    const kernel::unique_fd map{::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)};
    std::vector<std::uint64_t> entries(pages);
    const auto bytes = static_cast<ssize_t>(pages * sizeof(std::uint64_t));
    const auto first = reinterpret_cast<std::uintptr_t>(from) / page;
    EXPECT_EQ(::pread(map.get(), entries.data(), static_cast<std::size_t>(bytes),
                      static_cast<off_t>(first * sizeof(std::uint64_t))),
              bytes);
    return static_cast<std::size_t>(std::ranges::count_if(entries, [](std::uint64_t entry) { return entry >> 63; }));
}

// The kernel maps 16 pages at once where it is asked for a page to read: its default, 64 KB of fault_around_bytes.
TEST(client_memory_test, the_first_bytes_bring_in_the_pages_around_them)
{
    constexpr std::size_t at_once = 16;
    constexpr std::uint64_t bytes = 4 * at_once * page;
    const kernel::unique_fd file = allocated(memory_file(bytes), bytes);
    kernel::mapping mapped = map_file(file, bytes);
    const auto lead = reinterpret_cast<std::uintptr_t>(mapped.get()) % (at_once * page);
    const std::uint64_t offset = at_once * page - lead;
    const std::byte *there = mapped.bytes().data() + offset;
    client_memory memory{std::move(mapped), bytes};
    EXPECT_EQ(mapped_pages(there, at_once), 0U);
    ASSERT_TRUE(memory.copy_in(offset, payload));
    EXPECT_EQ(mapped_pages(there, at_once), at_once);
}

using client_memory_death_test = testing::Test;

TEST(client_memory_death_test, other_bus_errors_still_end_the_process)
{
    const kernel::unique_fd file = memory_file(page);
    const kernel::mapping unguarded = map_file(file, page);
    const client_memory guarded{map_file(memory_file(page), page), page};
    ASSERT_EQ(::ftruncate(file.get(), 0), 0);

    EXPECT_DEATH(std::memcpy(unguarded.get(), payload.data(), 1), "");
    EXPECT_DEATH(std::raise(SIGBUS), "");
}

// Huge pages of this host for as long as a test needs them: one more than there were, and all that are free.
class huge_pages
{
public:
    huge_pages()
    {
        std::ifstream{setting} >> before_;
        std::ofstream{setting} << before_ + 1;
        std::ifstream{setting} >> now_;
    }
    huge_pages(const huge_pages &) = delete;
    huge_pages &operator=(const huge_pages &) = delete;
    ~huge_pages()
    {
        taken_.clear();
        std::ofstream{setting} << before_;
    }
    [[nodiscard]] bool granted() const { return now_ > before_; }
    void take_all_free()
    {
        constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT);
        for (;;) {
            void *taken = ::mmap(nullptr, huge_page, PROT_READ | PROT_WRITE, flags, -1, 0);
            if (taken == MAP_FAILED)
                return;
            taken_.emplace_back(taken, huge_page);
            std::memset(taken, 1, 1);
        }
    }

private:
    static constexpr auto setting = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
    unsigned before_ = 0;
    unsigned now_ = 0;
    std::vector<kernel::mapping> taken_;
};

TEST(client_memory_test, a_hole_in_huge_pages_breaks_its_region_when_the_pool_is_empty)
{
    huge_pages pool;
    if (!pool.granted())
        GTEST_SKIP() << "no huge page to be had: nr_hugepages cannot be raised";
    const kernel::unique_fd file = sealed(memory_file(huge_page, MFD_HUGETLB | (21U << MAP_HUGE_SHIFT)));
    ASSERT_TRUE(file) << std::strerror(errno);
    client_memory memory = map_shared(file, page + 1, 10'000).value(); // not where such a page begins
    client_memory other = map_shared(sealed(allocated(memory_file(page), page)), 0, page).value();
    ASSERT_TRUE(copies_both_ways(memory, 5000));

    ASSERT_EQ(::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, huge_page), 0);
    pool.take_all_free();
    EXPECT_FALSE(memory.copy_in(5000, payload));
    EXPECT_TRUE(memory.broken());
    EXPECT_TRUE(copies_both_ways(other, 0));
}

} // namespace
} // namespace mrc::datapath
