// SPDX-License-Identifier: Apache-2.0
// Which of the known names somebody meant who mistyped one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace mrc::options
{

// Insertions, deletions and replacements of characters that make one of the other (Levenshtein).
[[nodiscard]] std::size_t edit_distance(std::string_view from, std::string_view to);

// The name with the least edit distance from `found`; nullopt when that is more than a third of the name's length plus
// one for every name: a suggestion would mislead.
[[nodiscard]] std::optional<std::string_view> nearest_spelling(std::string_view found,
                                                               std::span<const std::string_view> known);

} // namespace mrc::options
