// SPDX-License-Identifier: Apache-2.0
// A value as it stands in a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mrc::options
{

class value
{
public:
    // What no option takes is only named: "a table".
    struct foreign {
        std::string_view name;
    };
    using list = std::vector<value>;

    template <class T>
    explicit value(T of) : of_{std::move(of)}
    {
    }

    // nullptr: it is none.
    [[nodiscard]] const bool *flag() const { return std::get_if<bool>(&of_); }
    [[nodiscard]] const std::int64_t *whole() const { return std::get_if<std::int64_t>(&of_); }
    [[nodiscard]] const double *fraction() const { return std::get_if<double>(&of_); }
    [[nodiscard]] const std::string *text() const { return std::get_if<std::string>(&of_); }
    [[nodiscard]] const list *elements() const { return std::get_if<list>(&of_); }

    // As errors show it.
    [[nodiscard]] std::string shown() const;

private:
    std::variant<foreign, bool, std::int64_t, double, std::string, list> of_;
};

// A TOML basic string.
[[nodiscard]] std::string toml_string(std::string_view text);

} // namespace mrc::options
