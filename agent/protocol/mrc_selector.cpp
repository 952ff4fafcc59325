// SPDX-License-Identifier: Apache-2.0
#include "protocol/mrc_selector.h"

#include <utility>

namespace mrc::protocol
{

namespace
{

template <typename sequence>
void shuffle(sequence &items, std::size_t count, random_source &random)
{
    for (std::size_t i = count; i > 1; --i)
        std::swap(items[i - 1], items[random.below(static_cast<std::uint32_t>(i))]);
}

} // namespace

mrc_selector::mrc_selector(const path_group &paths, std::uint64_t seed)
    : random_{seed}, planes_{paths.planes()}, skipped_(paths.size(), false)
{
    for (unsigned lane = 0; lane < planes_; ++lane) {
        plane_order_[lane] = plane{static_cast<std::uint8_t>(lane)};
        auto &order = lanes_[lane].positions;
        order.resize(paths.active_per_plane());
        for (std::size_t i = 0; i < order.size(); ++i)
            order[i] = static_cast<std::uint16_t>(i);
        shuffle(order, order.size(), random_);
    }
    shuffle(plane_order_, planes_, random_);
}

std::optional<path_choice> mrc_selector::draw(const path_group &paths, plane_mask avoid)
{
    plane_mask among = paths.healthy();
    if (const plane_mask wished{among.bits() & ~avoid.bits()}; !wished.empty())
        among = wished;
    if (among.empty())
        return draw_bad(paths, paths.usable());
    return paths.path(next_good(paths, next_plane(among)));
}

// The next plane of this round that is in `among`. It changes places with the planes it overtook, so these keep their
// turn: avoiding a plane for one packet does not take a packet from it.
plane mrc_selector::next_plane(plane_mask among)
{
    for (;;) {
        for (unsigned turn = plane_turn_; turn < planes_; ++turn) {
            if (!among.has(plane_order_[turn]))
                continue;
            std::swap(plane_order_[plane_turn_], plane_order_[turn]);
            return plane_order_[plane_turn_++];
        }
        plane_turn_ = 0;
        shuffle(plane_order_, planes_, random_);
    }
}

// Precondition: the plane has a GOOD active path.
std::uint16_t mrc_selector::next_good(const path_group &paths, plane lane)
{
    lane_order &order = lanes_[lane.value];
    const std::size_t count = order.positions.size();
    if (order.next >= count) {
        order.next = 0;
        shuffle(order.positions, count, random_);
    }
    std::uint16_t restored = 0;
    bool any_restored = false;
    for (std::size_t step = 0; step < count; ++step) {
        const std::size_t at = (order.next + step) % count;
        const std::uint16_t slot = paths.active_slot(lane, order.positions[at]);
        if (paths.state(slot) != path_state::good)
            continue;
        if (!skipped_[slot]) {
            order.next = at + 1;
            return slot;
        }
        if (!any_restored) {
            skipped_[slot] = false;
            restored = slot;
            any_restored = true;
        }
    }
    ++order.next;
    return restored;
}

// No GOOD path on any usable plane: the ones with the fewest recent losses carry on, so that a QP never stops sending
// because of what it believes.
std::optional<path_choice> mrc_selector::draw_bad(const path_group &paths, plane_mask usable)
{
    plane_mask among = usable;
    while (!among.empty()) {
        const plane lane = next_plane(among);
        if (const auto slot = least_bad(paths, lane))
            return paths.path(*slot);
        among.set(lane, false);
    }
    return std::nullopt;
}

std::optional<std::uint16_t> mrc_selector::least_bad(const path_group &paths, plane lane)
{
    lane_order &order = lanes_[lane.value];
    const std::size_t count = order.positions.size();
    if (count == 0)
        return std::nullopt;
    std::optional<std::uint16_t> best;
    unsigned best_losses = 0;
    for (std::size_t step = 0; step < count; ++step) {
        const std::uint16_t slot = paths.active_slot(lane, order.positions[(order.next + step) % count]);
        const unsigned losses = paths.evidence().recent_losses(slot, 32);
        if (paths.state(slot) == path_state::denied || (best && losses >= best_losses))
            continue;
        best = slot;
        best_losses = losses;
    }
    order.next = (order.next + 1) % count;
    return best;
}

} // namespace mrc::protocol
