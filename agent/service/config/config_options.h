// SPDX-License-Identifier: Apache-2.0
// The one table of options: it drives reading, checking, printing, and the test that compares the documents with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "service/config/config.h"

namespace mrc::service
{

// A value as it stands in the file. Types that no option takes are only named ("an array").
struct foreign_value {
    std::string_view name;
};
using number_list = std::vector<std::int64_t>;
using file_value =
    std::variant<foreign_value, bool, std::int64_t, double, std::string, number_list, std::vector<number_list>>;

struct option {
    std::string_view table; // of options of [[port]]: "port"; is_array_table
    std::string_view key;
    std::string allowed;      // "1 to 256", in the words of the error messages and documents
    std::string default_text; // as TOML, or in words where it follows from other options; empty: required
    // Stores a value; false: it is not allowed. `row` is the table's for options of array tables, otherwise ignored.
    std::function<bool(daemon_config &, std::size_t row, const file_value &)> set;
    std::function<std::string(const daemon_config &, std::size_t row)> as_toml;
    std::function<void(daemon_config &to, const daemon_config &from, std::size_t row)> copy;

    [[nodiscard]] bool is_required() const { return default_text.empty(); }
    // "transmit.burst", or "port[1].device": the name in errors and in daemon_config::given.
    [[nodiscard]] std::string name(std::size_t row) const;
};

inline constexpr std::string_view port_table = "port";
inline constexpr std::string_view ev_profile_table = "ev_profile";
inline constexpr std::string_view cc_profile_table = "cc_profile";

// Tables that stand once per thing described.
[[nodiscard]] bool is_array_table(std::string_view table);
// How often the configuration has it; 1 for other tables.
[[nodiscard]] std::size_t rows_of(const daemon_config &config, std::string_view table);
// One more row; its number.
std::size_t add_row(daemon_config &config, std::string_view table);

[[nodiscard]] config_error error_at(const daemon_config &config, std::string key, std::string problem);

// In the order in which they are printed; those of one table stand together.
[[nodiscard]] std::span<const option> config_options();

// Fills in what follows from other options, and checks the options against each other.
[[nodiscard]] std::expected<void, config_error> complete_config(daemon_config &config);

} // namespace mrc::service
