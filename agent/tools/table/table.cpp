// SPDX-License-Identifier: Apache-2.0
#include "tools/table/table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr std::string_view gap = "  ";

struct scale {
    double step;
    std::span<const char *const> units;
};

std::string scaled(double value, const scale &by)
{
    std::size_t at = 0;
    for (; std::abs(value) >= by.step && at + 1 < by.units.size(); ++at)
        value /= by.step;
    return at == 0 && value == std::trunc(value) ? fmt::format("{:.0f} {}", value, by.units[at])
                                                 : fmt::format("{:.2f} {}", value, by.units[at]);
}

constexpr const char *byte_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
constexpr const char *time_units[] = {"ns", "us", "ms", "s"};
constexpr const char *bit_units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
constexpr const char *rate_units[] = {"/s", "k/s", "M/s", "G/s"};

json::value value_at(const json::object &row, std::string_view key)
{
    const auto dot = key.find('.');
    const auto *found = row.if_contains(key.substr(0, dot));
    if (found == nullptr)
        return {};
    if (dot == std::string_view::npos)
        return *found;
    return found->is_object() ? value_at(found->get_object(), key.substr(dot + 1)) : json::value(nullptr);
}

struct cell {
    std::string text;
    bool is_number = false;
};

std::string padded(const cell &of, std::size_t width, bool right)
{
    const std::string space(width - std::min(width, of.text.size()), ' ');
    return right ? space + of.text : of.text + space;
}

void add_line(std::string &to, std::string line)
{
    line.erase(line.find_last_not_of(' ') + 1);
    to += line + '\n';
}

} // namespace

std::string to_text(const json::value &value, column_unit measure)
{
    if (value.is_null())
        return "-";
    if (value.is_string())
        return std::string{value.get_string()};
    if (value.is_bool())
        return value.get_bool() ? "yes" : "no";
    if (!value.is_number())
        return json::serialize(value);
    const double number = value.to_number<double>();
    switch (measure) {
    case column_unit::bytes:
        return scaled(number, {.step = 1024, .units = byte_units});
    case column_unit::time:
        return scaled(number, {.step = 1000, .units = time_units});
    case column_unit::bitrate:
        return scaled(number, {.step = 1000, .units = bit_units});
    case column_unit::rate:
        return scaled(number, {.step = 1000, .units = rate_units});
    case column_unit::share:
        return fmt::format("{:.2f} %", 100 * number);
    case column_unit::none:
        break;
    }
    return value.is_double() ? fmt::format("{:.3f}", number) : json::serialize(value);
}

std::string to_table(std::span<const column> columns, const json::array &rows)
{
    std::vector<std::vector<cell>> cells(rows.size());
    std::vector<std::size_t> widths;
    std::vector<bool> right(columns.size());
    for (std::size_t c = 0; c < columns.size(); ++c) {
        widths.push_back(std::string_view{columns[c].title}.size());
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const json::value value = value_at(rows[r].as_object(), columns[c].key);
            cells[r].push_back({.text = to_text(value, columns[c].measure), .is_number = value.is_number()});
            widths[c] = std::max(widths[c], cells[r][c].text.size());
            right[c] = right[c] || value.is_number();
        }
    }
    std::string table;
    std::string titles;
    for (std::size_t c = 0; c < columns.size(); ++c)
        titles.append(c == 0 ? "" : gap).append(padded({.text = columns[c].title}, widths[c], right[c]));
    add_line(table, titles);
    for (const auto &row : cells) {
        std::string line;
        for (std::size_t c = 0; c < columns.size(); ++c)
            line.append(c == 0 ? "" : gap).append(padded(row[c], widths[c], right[c]));
        add_line(table, line);
    }
    return table;
}

std::string to_list(std::span<const column> lines, const json::object &of)
{
    std::size_t width = 0;
    for (const column &line : lines)
        width = std::max(width, std::string_view{line.title}.size());
    std::string list;
    for (const column &line : lines)
        fmt::format_to(std::back_inserter(list), "{:<{}}  {}\n", line.title, width,
                       to_text(value_at(of, line.key), line.measure));
    return list;
}

} // namespace mrc::ctl
