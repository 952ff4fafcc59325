// SPDX-License-Identifier: Apache-2.0
#include "options/print.h"

#include <algorithm>

#include <fmt/format.h>

namespace mrc::options
{

namespace
{

std::string origin_of(const origins &from, const std::string &name)
{
    const auto given = from.given.find(name);
    return given == from.given.end() ? std::string{"default"} : fmt::format("{}:{}", from.file, given->second.line);
}

using filter = std::function<bool(const std::string &name)>;

// One line per option, the comments below each other.
std::string print_options(const table &schema, const origins *from, const std::string &prefix, const void *row,
                          const filter &shown)
{
    std::vector<std::pair<std::string, std::string>> lines;
    std::size_t longest = 0;
    for (const option &each : schema.options()) {
        if (shown && !shown(prefix + std::string{each.key}))
            continue;
        lines.emplace_back(fmt::format("{} = {}", each.key, each.as_toml(row)),
                           from != nullptr ? origin_of(*from, prefix + std::string{each.key}) : "");
        longest = std::max(longest, lines.back().first.size());
    }
    std::string text;
    for (const auto &[line, origin] : lines)
        text += from != nullptr ? fmt::format("{:<{}}  # {}\n", line, longest, origin) : line + "\n";
    return text;
}

std::string print_table(const table &schema, const origins *from, const void *root, const filter &shown)
{
    std::string text = print_options(schema, from, "", root, shown);
    for (const part &each : schema.parts())
        for (std::size_t row = 0; row < each.count(root); row++) {
            const std::string name = each.name(row);
            text += text.empty() ? "" : "\n";
            text += each.is_repeated ? fmt::format("[[{}]]\n", each.key) : fmt::format("[{}]\n", each.key);
            text += print_options(*each.content, from, name + ".", each.at(root, row), shown);
        }
    return text;
}

} // namespace

std::string print(const table &schema, const origins &from, const void *root, const filter &shown)
{
    return print_table(schema, &from, root, shown);
}

std::string print(const table &schema, const void *root)
{
    return print_table(schema, nullptr, root, {});
}

} // namespace mrc::options
