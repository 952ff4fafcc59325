// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/trace/time_line.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "unit/tools/mrcctl/trace/recorded.h"

namespace mrc::ctl
{
namespace
{

using protocol::trace_kind;
using protocol::trace_reason;
using test::recorded;

constexpr std::int64_t ahead_ns = 5'000'000; // the second host's clock

// Two hosts, the first of which sends; the ways take what the test says.
struct two_hosts {
    std::array<recording, 2> both{recording{.from = {.instance = "a", .host = "h", .to_real_ns = 1'000}},
                                  recording{.from = {.instance = "b", .host = "h", .to_real_ns = 1'000 + ahead_ns}}};
    std::uint64_t now = 1'000'000;

    void data(std::uint32_t psn, std::uint64_t takes_ns)
    {
        both[0].rows.push_back(recorded(trace_kind::send, trace_reason::first, now, 16, 32, psn, 9, 3072));
        both[1].rows.push_back(recorded(trace_kind::arrive, trace_reason::fresh, now + takes_ns, 32, 16, psn, 9, 3072));
        now += 100'000;
    }
    void sack(std::uint32_t psn, std::uint64_t takes_ns)
    {
        both[1].rows.push_back(recorded(trace_kind::answer, trace_reason::sack, now, 32, 16, psn, 9, 1));
        both[0].rows.push_back(recorded(trace_kind::sack, trace_reason::accepted, now + takes_ns, 16, 32, psn, 9, 1));
        now += 100'000;
    }
    [[nodiscard]] std::vector<seen_twice> there() const { return match_packets(both[0], both[1]); }
    [[nodiscard]] std::vector<seen_twice> back() const { return match_packets(both[1], both[0]); }
    [[nodiscard]] clock_difference clocks() const { return compare_clocks(both[0], both[1], there(), back()); }
};

TEST(trace_time_line, clocks_are_compared_by_the_shortest_ways)
{
    two_hosts hosts;
    for (const std::uint64_t takes_ns : {90'000, 20'000, 50'000})
        hosts.data(static_cast<std::uint32_t>(hosts.both[0].rows.size()), takes_ns);
    hosts.sack(1, 70'000);
    hosts.sack(2, 20'000);
    const clock_difference found = hosts.clocks();
    EXPECT_TRUE(found.is_known());
    EXPECT_EQ(found.second_ahead_ns, ahead_ns);
    EXPECT_EQ(found.round_trip_ns, 40'000U);
    EXPECT_EQ(found.there, 3U);
    EXPECT_EQ(found.back, 2U);
}

TEST(trace_time_line, ways_of_different_lengths_mislead_by_half_of_the_round_trip_at_most)
{
    two_hosts hosts;
    hosts.data(1, 60'000);
    hosts.sack(1, 20'000);
    EXPECT_EQ(hosts.clocks().second_ahead_ns, ahead_ns + 20'000);
    EXPECT_EQ(hosts.clocks().round_trip_ns, 80'000U);
}

TEST(trace_time_line, packets_that_look_alike_are_evidence_of_nothing)
{
    two_hosts hosts;
    hosts.data(1, 10'000);
    hosts.data(1, 20'000); // sent again by the same path
    hosts.data(2, 30'000);
    ASSERT_EQ(hosts.there().size(), 1U);
    EXPECT_EQ(unsigned{hosts.both[0].rows[hosts.there().front().sent].psn}, 2U);
    EXPECT_FALSE(hosts.clocks().is_known()) << "and nothing came back";
    EXPECT_EQ(hosts.clocks().second_ahead_ns, 0);
}

TEST(trace_time_line, packets_of_other_queue_pairs_do_not_match)
{
    two_hosts hosts;
    hosts.data(1, 10'000);
    hosts.both[1].rows.back().peer_qpn = 17;
    EXPECT_TRUE(hosts.there().empty());
}

TEST(trace_time_line, is_in_the_order_of_the_first_clock)
{
    two_hosts hosts;
    hosts.data(1, 20'000);
    hosts.sack(1, 20'000);
    hosts.data(2, 20'000);
    std::vector<std::size_t> of;
    for (const timed_row &row : time_line(hosts.both, hosts.clocks().second_ahead_ns, {}))
        of.push_back(row.of);
    EXPECT_EQ(of, (std::vector<std::size_t>{0, 1, 1, 0, 0, 1})) << "each before its arrival";
    const std::uint32_t losses = 1U << static_cast<unsigned>(trace_kind::loss);
    EXPECT_TRUE(time_line(hosts.both, 0, {.kinds = losses}).empty());
}

} // namespace
} // namespace mrc::ctl
