// SPDX-License-Identifier: Apache-2.0
#include "datapath/completion_ring.h"

#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace mrc::datapath
{
namespace
{

constexpr std::uint32_t number = 9;
constexpr std::uint32_t capacity = 4;

class completion_ring_test : public testing::Test
{
protected:
    static std::shared_ptr<const client_pipe> pipe_to(kernel::unique_fd &reader)
    {
        int ends[2] = {-1, -1};
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        reader.reset(ends[0]);
        return std::make_shared<const client_pipe>(kernel::unique_fd{ends[1]});
    }
    static std::vector<session::event_record> read(const kernel::unique_fd &pipe)
    {
        std::vector<session::event_record> all;
        for (session::event_record one; ::read(pipe.get(), &one, sizeof(one)) == sizeof(one);)
            all.push_back(one);
        return all;
    }
    static kernel::mapping memory()
    {
        const std::size_t bytes = session::completion_layout{capacity}.bytes();
        return {::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), bytes};
    }

    kernel::unique_fd channel_;
    kernel::unique_fd events_;
    kernel::mapping memory_ = memory();
    session::ring_view<session::completion_entry> client_ =
        session::completion_layout{capacity}.completions(memory_.get());
    session::ring_header &header_ = client_.header();
    completion_ring ring_{number, std::move(memory_), capacity, pipe_to(channel_), pipe_to(events_)};
};

TEST_F(completion_ring_test, entries_arrive_in_order)
{
    for (std::uint64_t id = 1; id <= 3; ++id)
        ring_.push({.id = id});
    session::completion_entry entry;
    for (std::uint64_t id = 1; id <= 3; ++id) {
        ASSERT_TRUE(client_.pop(entry));
        EXPECT_EQ(entry.id, id);
    }
    EXPECT_FALSE(client_.pop(entry));
}

TEST_F(completion_ring_test, the_channel_rings_once_per_arming)
{
    ring_.push({.id = 1});
    EXPECT_TRUE(read(channel_).empty()) << "nobody has armed it";
    session::arm(header_, session::arming::any);
    ring_.push({.id = 2});
    ring_.push({.id = 3});
    const auto rung = read(channel_);
    ASSERT_EQ(rung.size(), 1U);
    EXPECT_EQ(rung[0].number, number);
}

TEST_F(completion_ring_test, armed_for_solicited_it_rings_for_those_and_for_errors)
{
    session::arm(header_, session::arming::solicited);
    ring_.push({.id = 1});
    EXPECT_TRUE(read(channel_).empty());
    ring_.push({.id = 2, .flags = session::completion_solicited});
    EXPECT_EQ(read(channel_).size(), 1U);
    session::arm(header_, session::arming::solicited);
    ring_.push({.id = 3, .status = 1});
    EXPECT_EQ(read(channel_).size(), 1U);
}

TEST_F(completion_ring_test, a_full_ring_is_an_overrun_that_is_reported_once_and_stays)
{
    for (std::uint64_t id = 0; id < capacity; ++id)
        ring_.push({.id = id});
    EXPECT_FALSE(ring_.overrun());
    ring_.push({.id = 100});
    ring_.push({.id = 101});
    EXPECT_TRUE(ring_.overrun());
    const auto reported = read(events_);
    ASSERT_EQ(reported.size(), 1U);
    EXPECT_EQ(reported[0].kind, session::event_kind::cq_overrun);
    EXPECT_EQ(reported[0].number, number);
    session::completion_entry entry;
    ASSERT_TRUE(client_.pop(entry));
    ring_.push({.id = 102}); // there is room again
    for (std::uint64_t id = 1; id < capacity; ++id) {
        ASSERT_TRUE(client_.pop(entry));
        EXPECT_EQ(entry.id, id);
    }
    EXPECT_FALSE(client_.pop(entry)) << "nothing after what was lost";
}

} // namespace
} // namespace mrc::datapath
