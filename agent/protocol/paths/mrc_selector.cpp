// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/mrc_selector.h"

#include <algorithm>
#include <utility>

namespace mrc::protocol
{

namespace
{

template <typename item>
void shuffle(item *items, std::size_t count, random_source &random)
{
    for (std::size_t i = count; i > 1; --i)
        std::swap(items[i - 1], items[random.below(static_cast<std::uint32_t>(i))]);
}

} // namespace

mrc_selector::mrc_selector(const path_group &paths, std::uint64_t seed, slab_pool *pool)
    : random_{seed}, planes_{paths.planes()}, plane_turn_{planes_}, count_{paths.active_per_plane()},
      slots_{static_cast<std::uint16_t>(paths.size())}, marks_bytes_{static_cast<std::uint16_t>((slots_ + 7u) / 8)},
      order_{std::size_t{2} * marks_bytes_ + std::size_t{planes_} * count_, pool}
{
    for (unsigned plane = 0; plane < planes_; ++plane)
        plane_order_[plane] = plane_index{static_cast<std::uint8_t>(plane)};
    if (order_.held())
        fill();
}

// The planes go on taking turns where they were: each carries the same, however often the QP rests.
bool mrc_selector::begin()
{
    if (!order_.hold())
        return false;
    fill();
    return true;
}

void mrc_selector::fill()
{
    next_ = {};
    for (unsigned plane = 0; plane < planes_; ++plane) {
        std::uint8_t *order = order_of(plane_index{static_cast<std::uint8_t>(plane)});
        for (unsigned i = 0; i < count_; ++i)
            order[i] = static_cast<std::uint8_t>(i);
        shuffle(order, count_, random_);
    }
}

// Generations follow each other without a gap, however late this is called, or marks would outlast a round trip. Until
// one has been measured nothing is forgotten, and all marks are of the generation that ends now.
void mrc_selector::begin_generation(instant now, duration lasts)
{
    const instant follows = generation_ends_ + lasts;
    const bool in_time = now < follows;
    generation_ends_ = in_time ? follows : now + lasts;
    if (!order_.held() || lasts == duration{0})
        return;
    std::uint8_t *const marks = order_.data();
    if (in_time)
        std::copy_n(marks, marks_bytes_, marks + marks_bytes_);
    else
        std::fill_n(marks + marks_bytes_, marks_bytes_, std::uint8_t{0});
    std::fill_n(marks, marks_bytes_, std::uint8_t{0});
}

std::optional<path_choice> mrc_selector::draw(const path_group &paths, plane_mask usable, const path_avoidance &avoid)
{
    plane_mask among = usable & paths.good_planes();
    if (const plane_mask wished{among.bits() & ~avoid.planes.bits()}; !wished.empty())
        among = wished;
    if (!order_.held() && !begin()) [[unlikely]]
        return std::nullopt;
    if (among.empty())
        return draw_bad(paths, usable);
    return paths.path(next_good(paths, next_plane(among), avoid.slot));
}

// The next plane of this round that is in `among`. It changes places with the planes it overtook, so these keep their
// turn: avoiding a plane for one packet does not take a packet from it.
plane_index mrc_selector::next_plane(plane_mask among)
{
    for (;;) {
        for (unsigned turn = plane_turn_; turn < planes_; ++turn) {
            if (!among.has(plane_order_[turn]))
                continue;
            std::swap(plane_order_[plane_turn_], plane_order_[turn]);
            return plane_order_[plane_turn_++];
        }
        plane_turn_ = 0;
        shuffle(plane_order_.data(), planes_, random_);
    }
}

// Precondition: the plane has a GOOD active path. The `avoided` one only when it is the only one, and one that waits
// for its very first answer only when all do.
std::uint16_t mrc_selector::next_good(const path_group &paths, plane_index plane, std::optional<std::uint16_t> avoided)
{
    std::uint8_t *order = order_of(plane);
    std::uint16_t &next = next_[plane.value];
    if (next >= count_) {
        next = 0;
        shuffle(order, count_, random_);
    }
    std::optional<std::uint16_t> restored;
    std::optional<std::uint16_t> untried;
    for (unsigned step = 0, at = next; step < count_; ++step, at = at + 1 == count_ ? 0 : at + 1) {
        const std::uint16_t slot = paths.active_slot(plane, order[at]);
        if (!paths.in_use(slot) || slot == avoided)
            continue;
        if (!paths.open(slot)) {
            untried = slot;
            continue;
        }
        if (!marked(slot)) {
            next = static_cast<std::uint16_t>(at + 1);
            return slot;
        }
        if (!restored) {
            restore(slot);
            restored = slot;
        }
    }
    ++next;
    if (restored || untried)
        return restored ? *restored : *untried;
    return next_good(paths, plane, std::nullopt);
}

unsigned mrc_selector::skipped_paths() const
{
    unsigned count = 0;
    for (std::uint16_t slot = 0; slot < slots_; ++slot)
        count += skipped(slot) ? 1 : 0;
    return count;
}

// No GOOD path on any usable plane: the ones with the fewest recent losses carry on, so that a QP never stops sending
// because of what it believes.
std::optional<path_choice> mrc_selector::draw_bad(const path_group &paths, plane_mask usable)
{
    plane_mask among = usable;
    while (!among.empty()) {
        const plane_index plane = next_plane(among);
        if (const auto slot = least_bad(paths, plane))
            return paths.path(*slot);
        among.set(plane, false);
    }
    return std::nullopt;
}

std::optional<std::uint16_t> mrc_selector::least_bad(const path_group &paths, plane_index plane)
{
    const std::uint8_t *order = order_of(plane);
    std::uint16_t &next = next_[plane.value];
    std::optional<std::uint16_t> best;
    unsigned best_losses = 0;
    for (unsigned step = 0; step < count_; ++step) {
        const std::uint16_t slot = paths.active_slot(plane, order[(next + step) % count_]);
        const unsigned losses = paths.evidence().recent_losses(slot, 32);
        if (paths.state(slot) == path_state::denied || (best && losses >= best_losses))
            continue;
        best = slot;
        best_losses = losses;
    }
    next = next + 1u < count_ ? static_cast<std::uint16_t>(next + 1) : std::uint16_t{0};
    return best;
}

} // namespace mrc::protocol
