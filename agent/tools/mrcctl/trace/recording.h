// SPDX-License-Identifier: Apache-2.0
// What one host has traced: events in the order of their numbers, as rows of the map and as lines of JSON, which is
// what `mrcctl trace --json` prints and `--merge` reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "mrc/abi/maps.h"

namespace mrc::ctl
{

struct trace_filter {
    std::uint32_t qpn = 0;            // 0: all queue pairs
    std::uint32_t kinds = UINT32_MAX; // bit k: protocol::trace_kind k
};
[[nodiscard]] bool passes(const trace_filter &filter, const mrc_trace_row &row);

// Whose: the first line of a recording.
struct trace_source {
    std::string instance;
    std::string host;
    std::int64_t to_real_ns = 0; // what a time of its CLOCK_MONOTONIC lacks to its wall clock

    [[nodiscard]] std::string name() const { return instance + "@" + host; }
};

struct recording {
    trace_source from;
    std::vector<mrc_trace_row> rows{};
    std::uint64_t lost = 0; // events that others had taken the place of before they could be read
    bool is_whole = false;  // the last line is there
};

// Lines of a recording, each without its end.
[[nodiscard]] std::string first_line(const trace_source &from);
[[nodiscard]] std::string line_of_row(const mrc_trace_row &row, const trace_source &from);
[[nodiscard]] std::string last_line(std::uint64_t rows, std::uint64_t lost);

// Throws ctl_error, which names the line that is none of a recording.
[[nodiscard]] recording parse_recording(std::string_view text, const std::string &name);

// What the `value` of such an event is called: "bytes", "age_ns"; empty: it has none.
[[nodiscard]] std::string_view value_name(const mrc_trace_row &row);
// The fields that the kind of event has, but for its times and its queue pair.
void add_event_fields(boost::json::object &to, const mrc_trace_row &row);

// "again  qp 8959273 -> 5  psn 1234  ev 0x35fdd801  3072 bytes"
[[nodiscard]] std::string words_of(const mrc_trace_row &row);
[[nodiscard]] std::string kind_name(const mrc_trace_row &row);
[[nodiscard]] std::string reason_name(const mrc_trace_row &row);

} // namespace mrc::ctl
