// SPDX-License-Identifier: Apache-2.0
#include "options/quantity.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace mrc::options
{

std::optional<double> parse_quantity(std::string_view text, std::initializer_list<unit> units)
{
    double number = 0;
    const auto [rest, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);

    if (error != std::errc{} || number < 0 || !std::isfinite(number))
        return std::nullopt;
    std::string suffix{rest, text.data() + text.size()};
    for (char &letter : suffix)
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    for (const unit &candidate : units) {
        if (candidate.suffix == suffix)
            return number * candidate.factor;
    }
    return std::nullopt;
}

} // namespace mrc::options
