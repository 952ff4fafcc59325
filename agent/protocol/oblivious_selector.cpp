// SPDX-License-Identifier: Apache-2.0
#include "protocol/oblivious_selector.h"

#include <bit>

namespace mrc::protocol
{

namespace
{

// Precondition: 0 ≤ turn < number of planes in the mask.
plane nth_plane(plane_mask among, unsigned turn)
{
    std::uint32_t bits = among.bits();
    for (; turn > 0; --turn)
        bits &= bits - 1;
    return plane{static_cast<std::uint8_t>(std::countr_zero(bits))};
}

} // namespace

std::optional<path_choice> oblivious_selector::draw(const path_group &paths, plane_mask usable,
                                                    const path_avoidance &avoid)
{
    const plane_mask among = usable & plane_mask{(1u << paths.planes()) - 1};
    const plane_mask wished{among.bits() & ~avoid.planes.bits()};
    auto slot = draw_slot(paths, wished, std::nullopt);
    if (!slot)
        slot = draw_slot(paths, among, avoid.slot);
    if (!slot && avoid.slot)
        slot = draw_slot(paths, among, std::nullopt);
    return slot ? std::optional{paths.path(*slot)} : std::nullopt;
}

std::optional<std::uint16_t> oblivious_selector::draw_slot(const path_group &paths, plane_mask among,
                                                           std::optional<std::uint16_t> avoided)
{
    while (!among.empty()) {
        const plane lane = nth_plane(among, random_.below(static_cast<std::uint32_t>(std::popcount(among.bits()))));
        const unsigned count = paths.active_per_plane();
        const unsigned first = random_.below(count);
        for (unsigned step = 0; step < count; ++step) {
            const std::uint16_t slot = paths.active_slot(lane, (first + step) % count);
            if (paths.state(slot) != path_state::denied && slot != avoided)
                return slot;
        }
        among.set(lane, false);
    }
    return std::nullopt;
}

} // namespace mrc::protocol
