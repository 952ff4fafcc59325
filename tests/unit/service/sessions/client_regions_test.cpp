// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/client_regions.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "unit/service/sessions/session_in_memory.h"

namespace mrc::service
{
namespace
{

constexpr std::uint64_t page = 4096;

class client_regions : public testing::Test
{
protected:
    [[nodiscard]] session::memory_request request(std::uint64_t bytes = page) const
    {
        return {.address = 0,
                .length = bytes,
                .iova = 0x1000,
                .offset = 0,
                .pd = pd_,
                .access = session::access_remote_write | session::access_local_write};
    }
    [[nodiscard]] static kernel::unique_fd memory(std::uint64_t bytes = page)
    {
        kernel::unique_fd file = sealed_memory("region", bytes);
        const kernel::mapping whole = map_whole(file, bytes); // populated: a file with holes is refused
        std::memset(whole.get(), 1, bytes);
        return file;
    }
    answer add(const session::memory_request &wanted, std::uint64_t bytes = page)
    {
        kernel::unique_fd file = memory(bytes);
        return register_memory(client_.state, wanted, file);
    }

    test::daemon_in_memory daemon_{0};
    test::session_in_memory client_{daemon_};
    std::uint32_t pd_ = client_.make_pd();
};

TEST_F(client_regions, a_registered_region_can_be_written_until_it_is_deregistered)
{
    const answer made = add(request());
    ASSERT_EQ(made.reply.error, 0) << made.reply.text;
    EXPECT_EQ(client_.held(resource::memory_regions), 1U);
    EXPECT_EQ(client_.held(resource::memory_bytes), page);
    EXPECT_EQ(deallocate_pd(client_.state, pd_).reply.error, EBUSY) << "the region is in it";
    EXPECT_EQ(deregister_memory(client_.state, made.reply.number).reply.error, 0);
    EXPECT_EQ(client_.held(resource::memory_regions), 0U);
    EXPECT_EQ(client_.held(resource::memory_bytes), 0U);
    EXPECT_EQ(deregister_memory(client_.state, made.reply.number).reply.error, EINVAL) << "a second time";
    EXPECT_EQ(deallocate_pd(client_.state, pd_).reply.error, 0);
}

// No system call moves the bytes, and no descriptor of its memory was handed over.
TEST_F(client_regions, memory_of_the_program_that_the_daemon_is_part_of_is_written_and_read_in_place)
{
    client_.state.is_own_program = true;
    std::array<std::byte, 100> own{};
    session::memory_request wanted = request(own.size());
    wanted.address = reinterpret_cast<std::uint64_t>(own.data());
    kernel::unique_fd none;
    const answer made = register_memory(client_.state, wanted, none);
    ASSERT_EQ(made.reply.error, 0) << made.reply.text;
    const datapath::protection_domain domain{.owner = client_.state.number, .number = pd_};
    datapath::region_table &regions = daemon_.worker().regions();
    const std::array sent{std::byte{1}, std::byte{2}};
    const auto placed = regions.place(domain, made.reply.number, wanted.iova + 98, sent, {});
    ASSERT_TRUE(placed);
    EXPECT_EQ(*placed, protocol::placement::done);
    EXPECT_EQ(own[98], sent[0]);
    EXPECT_EQ(own[99], sent[1]);
    EXPECT_FALSE(regions.place(domain, made.reply.number, wanted.iova + 99, sent, {})) << "beyond the region";
    std::array<std::byte, 2> read{};
    own[0] = std::byte{7};
    EXPECT_TRUE(regions.read(domain, made.reply.number, wanted.iova, read));
    EXPECT_EQ(read[0], own[0]);
}

TEST_F(client_regions, another_session_cannot_deregister_it)
{
    test::session_in_memory other{daemon_, 2};
    const answer made = add(request());
    EXPECT_EQ(deregister_memory(other.state, made.reply.number).reply.error, EINVAL);
    EXPECT_EQ(client_.state.regions.size(), 1U);
}

TEST_F(client_regions, what_is_refused_leaves_nothing_behind)
{
    session::memory_request wrong_pd = request();
    wrong_pd.pd = 999;
    session::memory_request wraps = request();
    wraps.iova = ~std::uint64_t{0};
    session::memory_request access = request();
    access.access = 1U << 30;
    session::memory_request beyond = request();
    beyond.offset = page;
    for (const auto &wanted : {wrong_pd, wraps, access, beyond}) {
        EXPECT_NE(add(wanted).reply.error, 0);
        EXPECT_EQ(client_.held(resource::memory_regions), 0U);
        EXPECT_EQ(client_.held(resource::memory_bytes), 0U);
        EXPECT_EQ(client_.state.domains.at(pd_).users, 0U);
    }
    kernel::unique_fd none;
    EXPECT_EQ(register_memory(client_.state, request(), none).reply.error, EACCES)
        << "memory of a process that has not let itself be opened";
}

TEST_F(client_regions, only_shared_memory_where_that_is_configured)
{
    daemon_.limits().process_memory = false;
    EXPECT_EQ(add(request()).reply.error, 0);
    kernel::unique_fd none;
    const answer refused = register_memory(client_.state, request(), none);
    EXPECT_EQ(refused.reply.error, EACCES);
    EXPECT_NE(std::string{refused.reply.text}.find("limits.process_memory"), std::string::npos) << refused.reply.text;
}

TEST_F(client_regions, bytes_and_regions_of_a_user_are_limited_over_all_of_its_sessions)
{
    test::session_in_memory second{daemon_, 2, client_.state.account};
    const std::uint32_t there = second.make_pd();
    const unsigned limit = client_.state.shared.config.limits.memory_regions;
    for (unsigned n = 0; n < limit; ++n)
        ASSERT_EQ(add(request()).reply.error, 0);
    session::memory_request wanted = request();
    wanted.pd = there;
    kernel::unique_fd file = memory();
    EXPECT_EQ(register_memory(second.state, wanted, file).reply.error, ENOMEM);
    release_regions(client_.state);
    EXPECT_EQ(register_memory(second.state, wanted, file).reply.error, 0);
    wanted.length = client_.state.shared.config.limits.memory_bytes + 1;
    kernel::unique_fd again = memory();
    EXPECT_EQ(register_memory(second.state, wanted, again).reply.error, ENOMEM);
    EXPECT_TRUE(again) << "what is not taken stays the caller's";
}

TEST_F(client_regions, protection_domains_are_limited)
{
    const unsigned limit = client_.state.shared.config.limits.memory_regions;
    while (client_.state.domains.size() < limit)
        ASSERT_EQ(allocate_pd(client_.state).reply.error, 0);
    EXPECT_EQ(allocate_pd(client_.state).reply.error, ENOSPC);
    EXPECT_EQ(deallocate_pd(client_.state, 12345).reply.error, EINVAL);
}

} // namespace
} // namespace mrc::service
