// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "service/config/config_options.h"
#include <fmt/format.h>

namespace mrc::service
{

namespace
{

std::string origin_of(const daemon_config &config, const std::string &name)
{
    const auto given = config.given.find(name);
    return given == config.given.end() ? std::string{"default"} : fmt::format("{}:{}", config.file, given->second.line);
}

// One line per option of `table`, the comments below each other.
std::string print_table(const daemon_config &config, std::string_view table, std::size_t row)
{
    std::vector<std::pair<std::string, std::string>> lines;
    std::size_t longest = 0;
    for (const auto &option : config_options()) {
        if (option.table != table)
            continue;
        lines.emplace_back(fmt::format("{} = {}", option.key, option.as_toml(config, row)),
                           origin_of(config, option.name(row)));
        longest = std::max(longest, lines.back().first.size());
    }
    std::string text = is_array_table(table) ? fmt::format("[[{}]]\n", table) : fmt::format("[{}]\n", table);
    for (const auto &[line, origin] : lines)
        text += fmt::format("{:<{}}  # {}\n", line, longest, origin);
    return text;
}

} // namespace

std::string print_config(const daemon_config &config)
{
    std::string text;
    std::string_view last;
    for (const auto &option : config_options()) {
        if (option.table == last)
            continue;
        last = option.table;
        const std::size_t rows = rows_of(config, last);
        for (std::size_t row = 0; row < rows; row++)
            text += (text.empty() ? "" : "\n") + print_table(config, last, row);
    }
    return text;
}

} // namespace mrc::service
