// SPDX-License-Identifier: Apache-2.0
// What one host has traced: events in the order of their numbers, as rows of the map and as lines of JSON, which is
// what `mrcctl trace --json` prints and `--merge` reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "mrc/abi/maps.h"

namespace mrc::ctl
{

struct trace_filter {
    std::uint32_t qpn = 0;            // 0: all queue pairs
    std::uint32_t kinds = UINT32_MAX; // bit k: protocol::trace_kind k
};
[[nodiscard]] inline bool passes(const trace_filter &filter, const mrc_trace_row &row)
{
    return (filter.kinds >> (row.kind & 31U) & 1U) != 0 &&
           (filter.qpn == 0 || row.qpn == 0 || row.qpn == filter.qpn || row.peer_qpn == filter.qpn);
}

// Whose: the first line of a recording.
struct trace_source {
    std::string instance;
    std::string host;
    std::int64_t to_real_ns = 0; // what a time of its CLOCK_MONOTONIC lacks to its wall clock

    [[nodiscard]] std::string name() const { return instance + "@" + host; }
};

struct traced_row : mrc_trace_row {
    std::uint64_t number = 0; // 1 for the first event ever
};

struct recording {
    trace_source from;
    std::vector<traced_row> rows{};
    std::uint64_t lost = 0; // events that others had taken the place of before they could be read
    bool is_whole = false;  // the last line is there
};

// Grows by what is printed.
using text_buffer = fmt::memory_buffer;

// Lines of a recording, each without its end.
[[nodiscard]] std::string first_line(const trace_source &from);
[[nodiscard]] std::string last_line(std::uint64_t rows, std::uint64_t lost);
// The fields of a line between them, without its braces.
void add_row_fields(text_buffer &to, const traced_row &row, const trace_source &from);

// Throws ctl_error, which names the line that is none of a recording.
[[nodiscard]] recording parse_recording(std::string_view text, const std::string &name);

// What the `value` of such an event is called: "bytes", "age_ns"; empty: it has none.
[[nodiscard]] std::string_view value_name(const mrc_trace_row &row);
// Fields of JSON that the kind of event has, but for its times and its queue pair.
void add_event_fields(text_buffer &to, const mrc_trace_row &row);

// "send   again         qp 8959273 of 5  psn 0x1234  ev 0x35fdd801  3072 bytes"
void add_words(text_buffer &to, const mrc_trace_row &row);
[[nodiscard]] std::string_view kind_name(const mrc_trace_row &row);
[[nodiscard]] std::string_view reason_name(const mrc_trace_row &row); // empty: it has none

} // namespace mrc::ctl
