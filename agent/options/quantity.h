// SPDX-License-Identifier: Apache-2.0
// Quantities as people write them: 1%, 10Gbit, 64K, 100us.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

namespace mrc::options
{

struct unit {
    std::string_view suffix; // lower case
    double factor;
};

// A number that is not negative, and one of the units' suffixes in upper or lower case.
[[nodiscard]] std::optional<double> parse_quantity(std::string_view text, std::initializer_list<unit> units);

} // namespace mrc::options
