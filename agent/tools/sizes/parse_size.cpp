// SPDX-License-Identifier: Apache-2.0
#include "tools/sizes/parse_size.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

namespace mrc::sizes
{

std::optional<std::uint64_t> parse_size(const std::string &text)
{
    static constexpr std::string_view units{"KMGT"};
    constexpr double limit = 0x1p63;
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    // from_chars also takes a sign, "inf" and "nan".
    if (error != std::errc{} || std::isdigit(static_cast<unsigned char>(text.front())) == 0)
        return std::nullopt;
    std::string unit{end, text.data() + text.size()};
    if (unit.ends_with("iB"))
        unit.resize(unit.size() - 2);
    if (!unit.empty()) {
        const auto power = units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit.front()))));
        if (unit.size() != 1 || power == std::string_view::npos)
            return std::nullopt;
        number = std::floor(std::ldexp(number, static_cast<int>(10 * (power + 1))));
    }
    if (number >= limit || number != std::floor(number))
        return std::nullopt;
    return static_cast<std::uint64_t>(number);
}

} // namespace mrc::sizes
