// SPDX-License-Identifier: Apache-2.0
#include "service/drain.h"

#include <vector>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

using namespace std::chrono_literals;

constexpr auto long_enough = 1h;

// Ends the context when it is done; how often the traffic was asked for until then.
unsigned looks_until_done(std::chrono::milliseconds most, const drain::traffic &traffic)
{
    boost::asio::io_context context;
    unsigned looks = 0;
    unsigned ends = 0;
    drain tried{context, [&] {
                    ++looks;
                    return traffic();
                }};
    tried.start(most, [&] { ++ends; });
    context.run();
    EXPECT_EQ(ends, 1U);
    return looks;
}

TEST(drain, waits_for_nothing_without_queue_pairs)
{
    EXPECT_EQ(looks_until_done(long_enough, [] { return std::nullopt; }), 1U);
}

TEST(drain, ends_when_nothing_has_moved_for_an_interval)
{
    std::vector<std::uint64_t> packets{9, 9, 8, 7}; // from the end
    EXPECT_EQ(looks_until_done(long_enough,
                               [&]() -> std::optional<std::uint64_t> {
                                   const std::uint64_t now = packets.back();
                                   packets.pop_back();
                                   return now;
                               }),
              4U);
}

TEST(drain, ends_with_the_last_queue_pair)
{
    bool first = true;
    EXPECT_EQ(looks_until_done(long_enough,
                               [&]() -> std::optional<std::uint64_t> {
                                   return std::exchange(first, false) ? std::optional<std::uint64_t>{1} : std::nullopt;
                               }),
              2U);
}

TEST(drain, ends_when_the_time_is_over_whatever_moves)
{
    std::uint64_t packets = 0;
    EXPECT_GE(looks_until_done(120ms, [&] { return std::optional{++packets}; }), 2U);
}

} // namespace
} // namespace mrc::service
