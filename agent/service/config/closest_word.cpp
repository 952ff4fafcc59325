// SPDX-License-Identifier: Apache-2.0
#include "service/config/closest_word.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace mrc::service
{

namespace
{

// Levenshtein distance by rows: distances[i] is that of the prefix of `to` with i characters.
std::size_t distance(std::string_view from, std::string_view to)
{
    std::vector<std::size_t> distances(to.size() + 1);
    for (std::size_t i = 0; i < distances.size(); i++)
        distances[i] = i;
    for (std::size_t row = 0; row < from.size(); row++) {
        std::size_t diagonal = distances[0];
        distances[0] = row + 1;
        for (std::size_t i = 0; i < to.size(); i++) {
            const std::size_t replaced = diagonal + (from[row] == to[i] ? 0 : 1);
            diagonal = distances[i + 1];
            distances[i + 1] = std::min({replaced, distances[i] + 1, distances[i + 1] + 1});
        }
    }
    return distances.back();
}

} // namespace

std::optional<std::string_view> closest_word(std::string_view found, std::span<const std::string_view> known)
{
    std::optional<std::string_view> closest;
    std::size_t fewest = 0;
    for (const auto word : known) {
        const std::size_t changes = distance(found, word);
        if (changes <= word.size() / 3 + 1 && (!closest || changes < fewest)) {
            closest = word;
            fewest = changes;
        }
    }
    return closest;
}

} // namespace mrc::service
