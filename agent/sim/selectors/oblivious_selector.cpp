// SPDX-License-Identifier: Apache-2.0
#include "sim/selectors/oblivious_selector.h"

#include <bit>

namespace mrc::sim
{

namespace
{

// Precondition: 0 ≤ turn < number of planes in the mask.
protocol::plane_index nth_plane(protocol::plane_mask among, unsigned turn)
{
    std::uint32_t bits = among.bits();
    for (; turn > 0; --turn)
        bits &= bits - 1;
    return protocol::plane_index{static_cast<std::uint8_t>(std::countr_zero(bits))};
}

} // namespace

std::optional<protocol::path_choice> oblivious_selector::draw(const protocol::path_group &paths,
                                                              protocol::plane_mask usable,
                                                              const protocol::path_avoidance &avoid)
{
    const protocol::plane_mask among = usable & protocol::plane_mask{(1u << paths.planes()) - 1};
    const protocol::plane_mask wished{among.bits() & ~avoid.planes.bits()};
    auto slot = draw_slot(paths, wished, std::nullopt);
    if (!slot)
        slot = draw_slot(paths, among, avoid.slot);
    if (!slot && avoid.slot)
        slot = draw_slot(paths, among, std::nullopt);
    return slot ? std::optional{paths.path(*slot)} : std::nullopt;
}

std::optional<std::uint16_t> oblivious_selector::draw_slot(const protocol::path_group &paths,
                                                           protocol::plane_mask among,
                                                           std::optional<std::uint16_t> avoided)
{
    while (!among.empty()) {
        const protocol::plane_index plane =
            nth_plane(among, random_.below(static_cast<std::uint32_t>(std::popcount(among.bits()))));
        const unsigned count = paths.active_per_plane();
        const unsigned first = random_.below(count);
        for (unsigned step = 0; step < count; ++step) {
            const std::uint16_t slot = paths.active_slot(plane, (first + step) % count);
            if (paths.state(slot) != protocol::path_state::denied && slot != avoided)
                return slot;
        }
        among.set(plane, false);
    }
    return std::nullopt;
}

} // namespace mrc::sim
