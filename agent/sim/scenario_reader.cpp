// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_reader.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mrc::sim
{

namespace
{

constexpr const char *times_allowed = R"(a time such as "250us", in ns, us, ms or s)";
constexpr const char *bytes_allowed = R"(bytes from 1 to 2G, such as 4096 or "64M")";

std::string shown(const toml::node &node)
{
    std::ostringstream out;
    node.visit([&out](const auto &value) { out << value; });
    return out.str();
}

// A number and what follows it.
bool split(std::string_view text, double &number, std::string_view &unit)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number < 0)
        return false;
    unit = text.substr(static_cast<std::size_t>(end - text.data()));
    return true;
}

} // namespace

bool parse_time(std::string_view text, picoseconds &to)
{
    double number = 0;
    std::string_view unit;
    if (!split(text, number, unit))
        return false;
    constexpr std::array<std::pair<std::string_view, double>, 4> units{
        {{"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}}};
    for (const auto &[name, scale] : units) {
        if (unit == name && number * scale < 1e18) {
            to = static_cast<picoseconds>(std::llround(number * scale));
            return true;
        }
    }
    return false;
}

bool parse_bytes(std::string_view text, std::uint64_t &to)
{
    double number = 0;
    std::string_view unit;
    if (!split(text, number, unit))
        return false;
    constexpr std::array<std::pair<std::string_view, double>, 4> units{
        {{"", 1}, {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}}};
    for (const auto &[name, scale] : units) {
        if (unit == name && number * scale >= 1 && number * scale <= 0x1p31) {
            to = static_cast<std::uint64_t>(number * scale);
            return true;
        }
    }
    return false;
}

std::string scenario_reader::full_name(std::string_view key) const
{
    return name_.empty() ? std::string{key} : fmt::format("{}.{}", name_, key);
}

void scenario_reader::fail(std::string_view key, const std::string &allowed) const
{
    const toml::node *node = table_.get(key);
    const auto line = (node != nullptr ? node->source() : table_.source()).begin.line;
    throw scenario_error{fmt::format("{}:{}: {}: found {}; allowed: {}", file_, line, full_name(key),
                                     node == nullptr ? "nothing" : shown(*node), allowed)};
}

const toml::node *scenario_reader::find(const char *key)
{
    known_.emplace(key);
    return table_.get(key);
}

void scenario_reader::text(const char *key, std::string &to)
{
    const toml::node *node = find(key);
    if (node == nullptr)
        return;
    const auto value = node->value<std::string>();
    if (!value || value->empty())
        fail(key, "text in quotes");
    to = *value;
}

void scenario_reader::flag(const char *key, bool &to)
{
    const toml::node *node = find(key);
    if (node == nullptr)
        return;
    if (!node->is_boolean())
        fail(key, "true or false");
    to = node->as_boolean()->get();
}

void scenario_reader::number(const char *key, double &to, double least, double most)
{
    const toml::node *node = find(key);
    if (node == nullptr)
        return;
    const auto value = node->value<double>();
    if (!node->is_number() || !value || !(*value >= least && *value <= most))
        fail(key, fmt::format("a number from {} to {}", least, most));
    to = *value;
}

void scenario_reader::read_whole(const char *key, std::uint64_t &to, std::uint64_t least, std::uint64_t most)
{
    const toml::node *node = find(key);
    if (node == nullptr)
        return;
    const auto *value = node->as_integer();
    if (value == nullptr || value->get() < 0 || static_cast<std::uint64_t>(value->get()) < least ||
        static_cast<std::uint64_t>(value->get()) > most)
        fail(key, fmt::format("{} to {}", least, most));
    to = static_cast<std::uint64_t>(value->get());
}

void scenario_reader::time(const char *key, picoseconds &to)
{
    const toml::node *node = find(key);
    if (node != nullptr && (!node->is_string() || !parse_time(node->as_string()->get(), to)))
        fail(key, times_allowed);
}

void scenario_reader::bytes(const char *key, std::uint64_t &to)
{
    const toml::node *node = find(key);
    if (node == nullptr)
        return;
    if (node->is_integer())
        read_whole(key, to, 1, std::uint64_t{1} << 31);
    else if (!node->is_string() || !parse_bytes(node->as_string()->get(), to))
        fail(key, bytes_allowed);
}

const toml::array *scenario_reader::find_array(const char *key, const char *allowed)
{
    const toml::node *node = find(key);
    if (node == nullptr)
        return nullptr;
    if (!node->is_array() || node->as_array()->empty())
        fail(key, allowed);
    return node->as_array();
}

void scenario_reader::numbers(const char *key, std::vector<double> &to, double least, double most)
{
    const std::string allowed = fmt::format("a list of numbers from {} to {}", least, most);
    const toml::array *array = find_array(key, allowed.c_str());
    if (array == nullptr)
        return;
    to.clear();
    for (const toml::node &each : *array) {
        const auto value = each.value<double>();
        if (!each.is_number() || !value || !(*value >= least && *value <= most))
            fail(key, allowed);
        to.push_back(*value);
    }
}

void scenario_reader::sizes(const char *key, std::vector<std::uint64_t> &to)
{
    constexpr const char *allowed = R"(a list of sizes such as "64M")";
    const toml::array *array = find_array(key, allowed);
    if (array == nullptr)
        return;
    to.clear();
    for (const toml::node &each : *array) {
        std::uint64_t value = 0;
        if (!each.is_string() || !parse_bytes(each.as_string()->get(), value))
            fail(key, allowed);
        to.push_back(value);
    }
}

void scenario_reader::texts(const char *key, std::vector<std::string> &to)
{
    constexpr const char *allowed = "a list of words in quotes";
    const toml::array *array = find_array(key, allowed);
    if (array == nullptr)
        return;
    to.clear();
    for (const toml::node &each : *array) {
        if (!each.is_string())
            fail(key, allowed);
        to.push_back(each.as_string()->get());
    }
}

void scenario_reader::text_pairs(const char *key, std::vector<std::pair<std::string, std::string>> &to)
{
    constexpr const char *allowed = R"(a list of pairs such as [["p0t0-0", "p0t1-0"]])";
    const toml::array *array = find_array(key, allowed);
    if (array == nullptr)
        return;
    for (const toml::node &each : *array) {
        const toml::array *pair = each.as_array();
        if (pair == nullptr || pair->size() != 2 || !pair->get(0)->is_string() || !pair->get(1)->is_string())
            fail(key, allowed);
        to.emplace_back(pair->get(0)->as_string()->get(), pair->get(1)->as_string()->get());
    }
}

bool scenario_reader::times(const char *key, picoseconds &first, picoseconds &second)
{
    constexpr const char *allowed = R"(two times in order, such as ["1ms", "2ms"])";
    const toml::array *array = find_array(key, allowed);
    if (array == nullptr)
        return false;
    if (array->size() != 2 || !array->get(0)->is_string() || !array->get(1)->is_string() ||
        !parse_time(array->get(0)->as_string()->get(), first) ||
        !parse_time(array->get(1)->as_string()->get(), second) || first >= second)
        fail(key, allowed);
    return true;
}

std::vector<scenario_reader> scenario_reader::tables(const char *key)
{
    std::vector<scenario_reader> found;
    const toml::node *node = find(key);
    if (node == nullptr)
        return found;
    if (const toml::table *table = node->as_table()) {
        found.emplace_back(file_, *table, full_name(key));
        return found;
    }
    const toml::array *array = node->as_array();
    if (array == nullptr)
        fail(key, fmt::format("a table [{}]", full_name(key)));
    for (const toml::node &each : *array) {
        if (!each.is_table())
            fail(key, fmt::format("tables [[{}]]", full_name(key)));
        found.emplace_back(file_, *each.as_table(), full_name(key));
    }
    return found;
}

void scenario_reader::finish() const
{
    for (const auto &[key, node] : table_)
        if (!known_.contains(key.str()))
            throw scenario_error{fmt::format("{}:{}: {}: not known here; allowed: {}", file_, key.source().begin.line,
                                             full_name(key.str()), fmt::join(known_, ", "))};
}

} // namespace mrc::sim
