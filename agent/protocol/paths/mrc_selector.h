// SPDX-License-Identifier: Apache-2.0
// The MRC rule: planes take turns, so that each carries the same number of packets; inside a plane the QP walks its own
// pseudo-random order of the active paths, drawn anew every round.
//
// SKIP (protocol.md §4.2, the reading of lb-sim): a scan restores the first skipped path that it meets to GOOD but
// the packet moves on; further skipped paths stay skipped; when a round finds no GOOD path, the one just restored is
// taken. A skipped path that is congested again stays skipped, no longer than before.
//
// A path that has never delivered gets a few packets until its first answer comes: one whose link was dead from the
// beginning swallows no more than these.
//
// Orders of paths, and marks, are borrowed (slab_pool.h): a QP that has been at rest begins with fresh ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "protocol/paths/path_selector.h"
#include "protocol/random_source.h"
#include "protocol/slab_ring.h"

namespace mrc::protocol
{

class mrc_selector final : public path_selector
{
public:
    mrc_selector(const path_group &paths, std::uint64_t seed, slab_pool *pool = nullptr);

    // Nothing, too, while there is no memory.
    [[nodiscard]] std::optional<path_choice> draw(const path_group &paths, plane_mask usable,
                                                  const path_avoidance &avoid) override;
    void on_feedback(std::uint16_t slot, path_feedback what) override
    {
        if (what != path_feedback::clean && order_.held())
            order_.data()[slot / 8u] |= bit(slot);
    }
    [[nodiscard]] bool skipped(std::uint16_t slot) const
    {
        return order_.held() && (order_.data()[slot / 8u] & bit(slot)) != 0;
    }
    [[nodiscard]] unsigned skipped_paths() const;

    void rest() { order_.give_back(); }
    void announce() const { order_.announce(); }

private:
    // A plane's order: positions of its active set, `count_` of them, and where the walk stands.
    [[nodiscard]] std::uint8_t *order_of(plane_index plane)
    {
        return order_.data() + orders_at_ + std::size_t{plane.value} * count_;
    }
    [[nodiscard]] static std::uint8_t bit(std::uint16_t slot) { return static_cast<std::uint8_t>(1u << slot % 8); }

    [[nodiscard, gnu::noinline]] bool begin(); // apart, for it is rare
    void fill();
    [[nodiscard]] plane_index next_plane(plane_mask among);
    [[nodiscard]] std::uint16_t next_good(const path_group &paths, plane_index plane,
                                          std::optional<std::uint16_t> avoided);
    [[nodiscard]] std::optional<std::uint16_t> least_bad(const path_group &paths, plane_index plane);
    [[nodiscard]] std::optional<path_choice> draw_bad(const path_group &paths, plane_mask usable);

    random_source random_;
    std::array<plane_index, max_planes> plane_order_{};
    std::array<std::uint16_t, max_planes> next_{};
    unsigned planes_;
    unsigned plane_turn_; // planes_: a round begins, in a new order
    unsigned count_;
    std::uint16_t slots_;
    std::uint16_t orders_at_; // behind the marks
    // A bit per path, skipped, then plane by plane: few cache lines, with thousands of QPs they are cold.
    slab_ring<std::uint8_t> order_;
};

} // namespace mrc::protocol
