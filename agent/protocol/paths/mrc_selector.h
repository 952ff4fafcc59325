// SPDX-License-Identifier: Apache-2.0
// The MRC rule: planes take turns, so that each carries the same number of packets; inside a plane the QP walks its own
// pseudo-random order of the active paths, drawn anew every round.
//
// SKIP (protocol.md §4.2, the reading of lb-sim): a scan restores the first skipped path that it meets to GOOD but
// the packet moves on; further skipped paths stay skipped; when a round finds no GOOD path, the one just restored is
// taken. A skipped path that is congested again stays skipped, no longer than before.
//
// With few packets under way a turn may take many round trips; by then the congestion is history. So SKIP also ends by
// time (D13), a half to a whole smoothed round trip after it began. Marks are of two generations of half a round trip,
// the present one and the one before, whose marks are dropped all at once when the present one ends. A time for each
// path would be exact, at 16 bits or more instead of two.
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
#include "protocol/types.h"

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
        if (what != path_feedback::clean && order_.held() && !marked(slot))
            order_.data()[slot / 8u] |= bit(slot);
    }
    void on_time(instant now, duration rtt) override
    {
        if (now >= generation_ends_)
            begin_generation(now, rtt / 2);
    }
    [[nodiscard]] bool skipped(std::uint16_t slot) const { return order_.held() && marked(slot); }
    [[nodiscard]] unsigned skipped_paths() const;

    void rest() { order_.give_back(); }
    void announce() const { order_.announce(); }

private:
    // A plane's order: positions of its active set, `count_` of them, and where the walk stands.
    [[nodiscard]] std::uint8_t *order_of(plane_index plane)
    {
        return order_.data() + std::size_t{2} * marks_bytes_ + std::size_t{plane.value} * count_;
    }
    // Precondition of these two: held.
    [[nodiscard]] bool marked(std::uint16_t slot) const
    {
        const std::uint8_t *marks = order_.data() + slot / 8u;
        return ((marks[0] | marks[marks_bytes_]) & bit(slot)) != 0;
    }
    void restore(std::uint16_t slot)
    {
        std::uint8_t *marks = order_.data() + slot / 8u;
        marks[0] &= static_cast<std::uint8_t>(~bit(slot));
        marks[marks_bytes_] &= static_cast<std::uint8_t>(~bit(slot));
    }
    [[nodiscard]] static std::uint8_t bit(std::uint16_t slot) { return static_cast<std::uint8_t>(1u << slot % 8); }

    [[nodiscard, gnu::noinline]] bool begin(); // apart, for it is rare
    void fill();
    void begin_generation(instant now, duration lasts);
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
    std::uint16_t marks_bytes_; // of one generation
    instant generation_ends_;
    // A bit per path that was skipped in this generation, the same of the one before, then plane by plane: few cache
    // lines, with thousands of QPs they are cold.
    slab_ring<std::uint8_t> order_;
};

} // namespace mrc::protocol
