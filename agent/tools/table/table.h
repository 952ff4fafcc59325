// SPDX-License-Identifier: Apache-2.0
// Aligned tables of JSON rows, and numbers with their units as people read them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

namespace mrc::ctl
{

enum class column_unit : std::uint8_t {
    none,    // text to the left, numbers to the right, as they are
    bytes,   // 1.50 MiB
    time,    // of nanoseconds: 12.3 us
    bitrate, // of bits per second: 3.64 Gbit/s
    rate,    // of events per second: 1.2 M/s
    share,   // of a part of 1: 1.25 %
};

struct column {
    const char *title;
    const char *key; // of the row's object; "paths.good" is `good` of the object `paths`
    column_unit measure = column_unit::none;
};

// null is "-".
[[nodiscard]] std::string to_text(const boost::json::value &value, column_unit measure);
// A line of titles, then a line per row.
[[nodiscard]] std::string to_table(std::span<const column> columns, const boost::json::array &rows);
// A line per member: name, value. Members that are objects or arrays are left out.
[[nodiscard]] std::string to_list(std::span<const column> lines, const boost::json::object &of);

} // namespace mrc::ctl
