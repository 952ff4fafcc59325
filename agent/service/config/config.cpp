// SPDX-License-Identifier: Apache-2.0
// Reads TOML into daemon_config by the table of options.
#include "service/config/config.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "service/config/closest_word.h"
#include "service/config/config_kinds.h"
#include "service/config/config_options.h"
#include <fmt/format.h>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace mrc::service
{

namespace
{

source_position position_of(const toml::source_region &source)
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

std::optional<number_list> numbers_in(const toml::array &list)
{
    number_list numbers;
    for (const toml::node &element : list) {
        const auto *number = element.as_integer();
        if (number == nullptr)
            return std::nullopt;
        numbers.push_back(number->get());
    }
    return numbers;
}

// A list of whole numbers, or of such lists; no option takes another.
file_value list_of(const toml::array &list)
{
    if (auto numbers = numbers_in(list))
        return *std::move(numbers);
    std::vector<number_list> rows;
    for (const toml::node &element : list) {
        const auto *row = element.as_array();
        auto numbers = row == nullptr ? std::nullopt : numbers_in(*row);
        if (!numbers)
            return foreign_value{name_of_type(list)};
        rows.push_back(*std::move(numbers));
    }
    return rows;
}

file_value value_of(const toml::node &node)
{
    if (const auto *text = node.as_string())
        return text->get();
    if (const auto *number = node.as_integer())
        return number->get();
    if (const auto *flag = node.as_boolean())
        return flag->get();
    if (const auto *number = node.as_floating_point())
        return number->get();
    if (const auto *list = node.as_array())
        return list_of(*list);
    return foreign_value{name_of_type(node)};
}

std::string describe(const file_value &value)
{
    if (const auto *text = std::get_if<std::string>(&value))
        return kinds::quoted(*text);
    if (const auto *number = std::get_if<std::int64_t>(&value))
        return fmt::format("{}", *number);
    if (const auto *flag = std::get_if<bool>(&value))
        return *flag ? "true" : "false";
    if (const auto *real = std::get_if<double>(&value))
        return fmt::format("{}", *real);
    if (const auto *list = std::get_if<number_list>(&value))
        return fmt::format("[{}]", fmt::join(*list, ", "));
    if (std::holds_alternative<std::vector<number_list>>(value))
        return "a list of lists";
    return std::string{std::get<foreign_value>(value).name};
}

// Of a value that is not even of the right shape.
std::string found_instead(const toml::node &node)
{
    return node.is_array() || node.is_table() ? std::string{name_of_type(node)} : describe(value_of(node));
}

using entry = std::pair<const toml::key *, const toml::node *>;

// toml++ sorts by name; the first error to report is the first in the file.
std::vector<entry> in_file_order(const toml::table &table)
{
    std::vector<entry> entries;
    for (const auto &[key, node] : table)
        entries.emplace_back(&key, &node);
    std::ranges::sort(entries, [](const entry &a, const entry &b) {
        const auto from = position_of(a.first->source());
        const auto to = position_of(b.first->source());
        return std::pair{from.line, from.column} < std::pair{to.line, to.column};
    });
    return entries;
}

std::vector<std::string_view> names_of_tables()
{
    std::vector<std::string_view> names;
    for (const auto &option : config_options())
        if (names.empty() || names.back() != option.table)
            names.push_back(option.table);
    return names;
}

std::vector<std::string_view> keys_of_table(std::string_view table)
{
    std::vector<std::string_view> keys;
    for (const auto &option : config_options())
        if (option.table == table)
            keys.push_back(option.key);
    return keys;
}

const option *find_option(std::string_view table, std::string_view key)
{
    for (const auto &option : config_options())
        if (option.table == table && option.key == key)
            return &option;
    return nullptr;
}

std::string unknown(std::string_view what, std::string_view found, std::span<const std::string_view> known)
{
    const auto closest = closest_word(found, known);
    return closest ? fmt::format("unknown {}; the closest known one is \"{}\"", what, *closest)
                   : fmt::format("unknown {}; known are {}", what, fmt::join(known, ", "));
}

class reader
{
public:
    explicit reader(daemon_config &config) : config_{config} {}

    std::optional<config_error> read(const toml::table &root)
    {
        for (const auto &[key, node] : in_file_order(root))
            if (auto error = read_table(*key, *node))
                return error;
        return missing_option();
    }

private:
    [[nodiscard]] config_error error(source_position at, std::string key, std::string problem) const
    {
        return {.file = config_.file, .at = at, .key = std::move(key), .problem = std::move(problem)};
    }

    std::optional<config_error> read_table(const toml::key &key, const toml::node &node)
    {
        const auto at = position_of(key.source());
        const auto known = names_of_tables();
        if (std::ranges::find(known, key.str()) == known.end())
            return error(at, std::string{key.str()},
                         unknown(node.is_value() ? "key outside of tables" : "table", key.str(), known));
        if (is_array_table(key.str()))
            return read_rows(key, node);
        const auto *table = node.as_table();
        if (table == nullptr)
            return error(at, std::string{key.str()},
                         fmt::format("found {}, allowed is one table [{}]", found_instead(node), key.str()));
        tables_.emplace(key.str(), at);
        return read_options(key.str(), 0, *table);
    }

    std::optional<config_error> read_rows(const toml::key &key, const toml::node &node)
    {
        const std::string_view table = key.str();
        const auto *rows = node.as_array();
        if (rows == nullptr || !std::ranges::all_of(*rows, [](const auto &row) { return row.is_table(); }))
            return error(position_of(key.source()), std::string{table},
                         fmt::format("found {}, allowed is one [[{}]] per {}", found_instead(node), table,
                                     table == port_table ? "port" : "profile"));
        for (const auto &row : *rows) {
            const auto number = add_row(config_, table);
            tables_.emplace(fmt::format("{}[{}]", table, number), position_of(row.source()));
            if (auto error = read_options(table, number, *row.as_table()))
                return error;
        }
        return std::nullopt;
    }

    std::optional<config_error> read_options(std::string_view table, std::size_t row, const toml::table &from)
    {
        for (const auto &[key, node] : in_file_order(from)) {
            const auto at = position_of(key->source());
            const auto *option = find_option(table, key->str());
            if (option == nullptr)
                return error(at, fmt::format("{}.{}", table, key->str()),
                             unknown("key", key->str(), keys_of_table(table)));
            const auto value = value_of(*node);
            if (!option->set(config_, row, value))
                return error(position_of(node->source()), option->name(row),
                             fmt::format("found {}, allowed is {}", describe(value), option->allowed));
            config_.given.emplace(option->name(row), at);
        }
        return std::nullopt;
    }

    [[nodiscard]] std::optional<config_error> missing_option() const
    {
        if (config_.ports.empty())
            return error({}, std::string{port_table}, "missing; required is one [[port]] per port of the host");
        for (const auto &option : config_options()) {
            const std::size_t rows = rows_of(config_, option.table);
            for (std::size_t row = 0; option.is_required() && row < rows; row++)
                if (!config_.given.contains(option.name(row)))
                    return error(position_of_table(option, row), option.name(row),
                                 fmt::format("missing; required is {}", option.allowed));
        }
        return std::nullopt;
    }

    [[nodiscard]] source_position position_of_table(const option &option, std::size_t row) const
    {
        const auto name =
            is_array_table(option.table) ? fmt::format("{}[{}]", option.table, row) : std::string{option.table};
        const auto found = tables_.find(name);
        return found == tables_.end() ? source_position{} : found->second;
    }

    daemon_config &config_;
    std::map<std::string, source_position> tables_;
};

} // namespace

std::string config_error::text() const
{
    std::string text = file;
    if (at.line != 0)
        text += fmt::format(":{}:{}", at.line, at.column);
    if (!key.empty())
        text += ": " + key;
    return text + ": " + problem;
}

config_result<daemon_config> parse_config(std::string_view text, const std::string &name)
{
    const auto parsed = toml::parse(text, std::string_view{name});
    if (!parsed)
        return std::unexpected{config_error{.file = name,
                                            .at = position_of(parsed.error().source()),
                                            .key = {},
                                            .problem = fmt::format("no TOML: {}", parsed.error().description())}};
    daemon_config config;
    config.file = name;
    if (auto error = reader{config}.read(parsed.table()))
        return std::unexpected{*std::move(error)};
    if (auto checked = complete_config(config); !checked)
        return std::unexpected{std::move(checked).error()};
    return config;
}

config_result<daemon_config> load_config(const std::string &path)
{
    std::ifstream stream{path, std::ios::binary};
    std::string text;
    std::array<char, 4096> chunk{};
    while (stream.read(chunk.data(), chunk.size()) || stream.gcount() > 0)
        text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
    if (!stream.is_open() || stream.bad())
        return std::unexpected{
            config_error{.file = path,
                         .at = {},
                         .key = {},
                         .problem = fmt::format("cannot read: {}", std::generic_category().message(errno))}};
    return parse_config(text, path);
}

} // namespace mrc::service
