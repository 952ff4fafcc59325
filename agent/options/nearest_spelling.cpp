// SPDX-License-Identifier: Apache-2.0
#include "options/nearest_spelling.h"

#include <algorithm>
#include <vector>

namespace mrc::options
{

// By rows: distances[i] is that of the prefix of `to` with i characters.
std::size_t edit_distance(std::string_view from, std::string_view to)
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

std::optional<std::string_view> nearest_spelling(std::string_view found, std::span<const std::string_view> known)
{
    std::optional<std::string_view> nearest;
    std::size_t least = 0;
    for (const auto name : known) {
        const std::size_t distance = edit_distance(found, name);
        if (distance <= name.size() / 3 + 1 && (!nearest || distance < least)) {
            nearest = name;
            least = distance;
        }
    }
    return nearest;
}

} // namespace mrc::options
