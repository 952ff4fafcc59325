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
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/paths/path_selector.h"
#include "protocol/random_source.h"

namespace mrc::protocol
{

class mrc_selector final : public path_selector
{
public:
    mrc_selector(const path_group &paths, std::uint64_t seed);

    [[nodiscard]] std::optional<path_choice> draw(const path_group &paths, plane_mask usable,
                                                  const path_avoidance &avoid) override;
    void on_feedback(std::uint16_t slot, path_feedback what) override
    {
        if (what != path_feedback::clean)
            skipped_[slot] = true;
    }
    [[nodiscard]] bool skipped(std::uint16_t slot) const { return skipped_[slot]; }
    [[nodiscard]] unsigned skipped_paths() const
    {
        return static_cast<unsigned>(std::count(skipped_.begin(), skipped_.end(), true));
    }

private:
    // A plane's order: positions of its active set, `count_` of them, and where the walk stands.
    [[nodiscard]] std::uint8_t *order_of(plane_index plane)
    {
        return positions_.data() + std::size_t{plane.value} * count_;
    }

    [[nodiscard]] plane_index next_plane(plane_mask among);
    [[nodiscard]] std::uint16_t next_good(const path_group &paths, plane_index plane,
                                          std::optional<std::uint16_t> avoided);
    [[nodiscard]] std::optional<std::uint16_t> least_bad(const path_group &paths, plane_index plane);
    [[nodiscard]] std::optional<path_choice> draw_bad(const path_group &paths, plane_mask usable);

    random_source random_;
    std::array<plane_index, max_planes> plane_order_{};
    unsigned planes_;
    unsigned plane_turn_ = 0;
    unsigned count_;
    std::array<std::uint16_t, max_planes> next_{};
    std::vector<std::uint8_t> positions_; // plane by plane: few cache lines, with thousands of QPs they are cold
    std::vector<bool> skipped_;
};

} // namespace mrc::protocol
