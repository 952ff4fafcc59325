// SPDX-License-Identifier: Apache-2.0
#include "options/read.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>
#include <tuple>

#include "options/nearest_spelling.h"
#include <fmt/format.h>
#include <toml++/toml.h>

namespace mrc::options
{

namespace
{

position position_of(const toml::source_region &source)
{
    return {.line = source.begin.line, .column = source.begin.column};
}

std::string_view name_of_type(const toml::node &node)
{
    switch (node.type()) {
    case toml::node_type::table:
        return "a table";
    case toml::node_type::array:
        return "an array";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
        return "a date or time";
    case toml::node_type::none:
    case toml::node_type::string:
    case toml::node_type::integer:
    case toml::node_type::floating_point:
    case toml::node_type::boolean:
        break;
    }
    return "a value";
}

value value_of(const toml::node &node)
{
    if (const auto *text = node.as_string())
        return value{text->get()};
    if (const auto *number = node.as_integer())
        return value{number->get()};
    if (const auto *flag = node.as_boolean())
        return value{flag->get()};
    if (const auto *number = node.as_floating_point())
        return value{number->get()};
    if (const auto *array = node.as_array()) {
        value::list elements;
        for (const toml::node &element : *array)
            elements.push_back(value_of(element));
        return value{std::move(elements)};
    }
    return value{value::foreign{name_of_type(node)}};
}

// Of a value that is not even of the right shape.
std::string found_instead(const toml::node &node)
{
    return node.is_array() || node.is_table() ? std::string{name_of_type(node)} : value_of(node).shown();
}

bool is_of_tables(const toml::node &node)
{
    const auto *array = node.as_array();
    return array != nullptr && std::ranges::all_of(*array, [](const auto &row) { return row.is_table(); });
}

template <class Named>
const Named *find_named(std::span<const Named> all, std::string_view key)
{
    const auto found = std::ranges::find(all, key, &Named::key);
    return found == all.end() ? nullptr : &*found;
}

struct entry {
    const toml::key *key;
    const toml::node *node;
    const option *as_option;
    const part *as_part;

    // toml++ sorts by name; the first error to report is the first in the file.
    [[nodiscard]] auto order() const
    {
        const auto at = position_of(key->source());
        return std::tuple{as_part != nullptr && as_part->begins_as_parent, at.line, at.column};
    }
};

std::vector<entry> in_order(const toml::table &from, const table &schema)
{
    std::vector<entry> entries;
    for (const auto &[key, node] : from)
        entries.push_back(
            {&key, &node, find_named(schema.options(), key.str()), find_named(schema.parts(), key.str())});
    std::ranges::sort(entries, {}, &entry::order);
    return entries;
}

// What is not known here, and what is.
std::string unknown(const toml::node &node, std::string_view key, const table &schema)
{
    const bool is_table = node.is_table() || (is_of_tables(node) && !node.as_array()->empty());
    std::vector<std::string_view> known;
    for (const auto &option : schema.options())
        known.push_back(option.key);
    for (const auto &part : schema.parts())
        known.push_back(part.key);
    const std::string_view what = schema.options().empty() ? is_table ? "table" : "key outside of tables" : "key";
    const auto nearest = nearest_spelling(key, known);
    return nearest ? fmt::format("unknown {}; the closest known one is \"{}\"", what, *nearest)
                   : fmt::format("unknown {}; known are {}", what, fmt::join(known, ", "));
}

using failure = std::optional<error>;

class reader
{
public:
    explicit reader(origins &to) : to_{to} {}

    // `prefix` is what stands in front of the table's keys: "", "fabric.", "port[0].".
    [[nodiscard]] failure read_table(const toml::table &from, const table &schema, const std::string &prefix, void *row)
    {
        for (const entry &each : in_order(from, schema)) {
            const std::string name = prefix + std::string{each.key->str()};
            const auto at = position_of(each.key->source());
            failure failed;
            if (each.as_option != nullptr)
                failed = read_option(*each.as_option, *each.node, name, row);
            else if (each.as_part == nullptr)
                failed = {error{to_.file, at, name, unknown(*each.node, each.key->str(), schema)}};
            to_.given.emplace(name, at);
            if (!failed && each.as_part != nullptr)
                failed = each.as_part->is_repeated ? read_rows(*each.as_part, *each.node, name, row)
                                                   : read_single(*each.as_part, *each.node, name, row);
            if (failed)
                return failed;
        }
        return missing(schema, prefix, row);
    }

private:
    [[nodiscard]] failure read_option(const option &known, const toml::node &node, const std::string &name, void *row)
    {
        const value found = value_of(node);
        if (known.read(row, found))
            return std::nullopt;
        return error{to_.file, position_of(node.source()), name,
                     fmt::format("found {}, allowed is {}", found.shown(), known.allowed)};
    }

    [[nodiscard]] failure read_single(const part &known, const toml::node &node, const std::string &name, void *parent)
    {
        if (const auto *from = node.as_table())
            return read_table(*from, *known.content, name + ".", known.add(parent));
        return to_.error_at(name, fmt::format("found {}, allowed is one table [{}]", found_instead(node), known.key));
    }

    [[nodiscard]] failure read_rows(const part &known, const toml::node &node, const std::string &name, void *parent)
    {
        if (!is_of_tables(node))
            return to_.error_at(name, fmt::format("found {}, allowed is one [[{}]] per {}", found_instead(node),
                                                  known.key, known.one_per));
        const auto &rows = *node.as_array();
        if (rows.size() > known.most)
            return to_.error_at(name, fmt::format("found {}, allowed are at most {}", rows.size(), known.most));
        known.clear(parent);
        for (std::size_t number = 0; number < rows.size(); number++) {
            const std::string row = fmt::format("{}[{}]", name, number);
            to_.given.emplace(row, position_of(rows[number].source()));
            if (auto failed = read_table(*rows[number].as_table(), *known.content, row + ".", known.add(parent)))
                return failed;
        }
        return std::nullopt;
    }

    [[nodiscard]] failure missing(const table &schema, const std::string &prefix, const void *row) const
    {
        const auto lacks = [this](const std::string &name, const std::string &what) {
            return to_.error_at(name, "missing; required is " + what);
        };
        for (const part &each : schema.parts())
            if (each.is_repeated && each.count(row) < each.least)
                return lacks(prefix + std::string{each.key}, fmt::format("one [[{}]] per {}", each.key, each.one_per));
        for (const option &each : schema.options())
            if (const auto name = prefix + std::string{each.key}; each.is_required && !to_.has(name))
                return lacks(name, each.allowed);
        for (const part &each : schema.parts())
            if (const auto name = prefix + std::string{each.key};
                !each.is_repeated && !each.is_optional && !to_.has(name))
                if (auto failed = missing(*each.content, name + ".", each.at(row, 0)))
                    return failed;
        return std::nullopt;
    }

    origins &to_;
};

} // namespace

result<std::string> read_file(const std::string &path)
{
    std::ifstream stream{path, std::ios::binary};
    std::string text;
    std::array<char, 4096> chunk{};
    while (stream.read(chunk.data(), chunk.size()) || stream.gcount() > 0)
        text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
    if (!stream.is_open() || stream.bad())
        return std::unexpected{
            error{.file = path,
                  .at = {},
                  .key = {},
                  .problem = fmt::format("cannot read: {}", std::generic_category().message(errno))}};
    return text;
}

result<origins> read_text(std::string_view text, const std::string &file, const table &schema, void *to)
{
    origins found{.file = file, .given = {}};
    try {
        if (auto failed = reader{found}.read_table(toml::parse(text, file), schema, "", to))
            return std::unexpected{*std::move(failed)};
    } catch (const toml::parse_error &failed) {
        return std::unexpected{error{.file = file,
                                     .at = position_of(failed.source()),
                                     .key = {},
                                     .problem = fmt::format("no TOML: {}", failed.description())}};
    }
    return found;
}

} // namespace mrc::options
