// SPDX-License-Identifier: Apache-2.0
// Which of the known words somebody meant who mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace mrc::service
{

// The word with the fewest insertions, deletions and replacements away from `found`; nullopt when every word is
// further than a third of its own length plus one away, where a suggestion would mislead.
[[nodiscard]] std::optional<std::string_view> closest_word(std::string_view found,
                                                           std::span<const std::string_view> known);

} // namespace mrc::service
