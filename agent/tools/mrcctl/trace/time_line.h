// SPDX-License-Identifier: Apache-2.0
// Two hosts' recordings as one time line. Their clocks differ; by how much is told by packets that both ends have seen,
// as NTP tells it: of two ways whose delays are alike, the shortest each way differ by twice the clocks' difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/mrcctl/trace/recording.h"

namespace mrc::ctl
{

// One packet: rows of its sender's recording and of its receiver's.
struct seen_twice {
    std::size_t sent = 0;
    std::size_t arrived = 0;
};
// Packets that left `from` and arrived at `to`. Those that look like others are left out.
[[nodiscard]] std::vector<seen_twice> match_packets(const recording &from, const recording &to);

struct clock_difference {
    std::int64_t second_ahead_ns = 0; // of the first's wall clock; 0 as well where nothing went both ways
    std::uint64_t round_trip_ns =
        0;                 // the shortest way there and the shortest way back: the error is half of it at most
    std::size_t there = 0; // packets from the first to the second
    std::size_t back = 0;

    [[nodiscard]] bool is_known() const { return there != 0 && back != 0; }
};
[[nodiscard]] clock_difference compare_clocks(const recording &first, const recording &second,
                                              std::span<const seen_twice> there, std::span<const seen_twice> back);

// By the wall clock of the first host.
struct timed_row {
    std::int64_t at_ns = 0;
    std::size_t of = 0; // 0: the first host's, 1: the second's
    std::size_t row = 0;
};
[[nodiscard]] std::int64_t real_time(const recording &of, std::size_t row);
// Of recordings[1] by `second_ahead_ns` less. Only what passes the filter.
[[nodiscard]] std::vector<timed_row> time_line(std::span<const recording> recordings, std::int64_t second_ahead_ns,
                                               const trace_filter &filter);

} // namespace mrc::ctl
