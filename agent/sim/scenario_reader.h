// SPDX-License-Identifier: Apache-2.0
// A table of a scenario file: hands out its keys in their kinds, and refuses what is left over. Every complaint names
// file, line, key, what was found, and what is allowed.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "sim/sim_time.h"

namespace mrc::sim
{

struct scenario_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class scenario_reader
{
public:
    scenario_reader(const std::string &file, const toml::table &table, std::string name)
        : file_{file}, table_{table}, name_{std::move(name)}
    {
    }

    // Keys that are missing leave `to` as it is.
    void text(const char *key, std::string &to);
    void flag(const char *key, bool &to);
    void number(const char *key, double &to, double least, double most);
    void time(const char *key, picoseconds &to);    // "250us"
    void bytes(const char *key, std::uint64_t &to); // 4096 or "64M"
    template <std::unsigned_integral T>
    void whole(const char *key, T &to, std::uint64_t least, std::uint64_t most)
    {
        std::uint64_t value = to;
        read_whole(key, value, least, most);
        to = static_cast<T>(value);
    }
    template <class T, std::size_t count>
    void word(const char *key, T &to, const std::array<std::pair<const char *, T>, count> &words)
    {
        const toml::node *node = find(key);
        if (node == nullptr)
            return;
        std::string allowed;
        for (const auto &[name, value] : words) {
            if (node->value<std::string>() == name) {
                to = value;
                return;
            }
            allowed += (allowed.empty() ? "\"" : ", \"") + std::string{name} + "\"";
        }
        fail(key, allowed);
    }
    void numbers(const char *key, std::vector<double> &to, double least, double most);
    void sizes(const char *key, std::vector<std::uint64_t> &to);
    void texts(const char *key, std::vector<std::string> &to);
    // [["a", "b"], …]
    void text_pairs(const char *key, std::vector<std::pair<std::string, std::string>> &to);
    // ["1ms", "2ms"]; false when missing
    bool times(const char *key, picoseconds &first, picoseconds &second);

    [[nodiscard]] bool has(const char *key) const { return table_.contains(key); }
    [[nodiscard]] std::uint32_t line() const { return table_.source().begin.line; }
    // Sub-tables; for a key that is missing, none.
    [[nodiscard]] std::vector<scenario_reader> tables(const char *key); // one [table], or every [[table]]
    // Complains about keys that nobody asked for.
    void finish() const;
    [[noreturn]] void fail(std::string_view key, const std::string &allowed) const;

private:
    [[nodiscard]] const toml::node *find(const char *key);
    void read_whole(const char *key, std::uint64_t &to, std::uint64_t least, std::uint64_t most);
    [[nodiscard]] const toml::array *find_array(const char *key, const char *allowed);
    [[nodiscard]] std::string full_name(std::string_view key) const;

    std::string file_;
    const toml::table &table_;
    std::string name_;
    std::set<std::string, std::less<>> known_;
};

// "250us", "1.5ms" in picoseconds; "64M", "4K" in bytes. False when it is none.
[[nodiscard]] bool parse_time(std::string_view text, picoseconds &to);
[[nodiscard]] bool parse_bytes(std::string_view text, std::uint64_t &to);

} // namespace mrc::sim
