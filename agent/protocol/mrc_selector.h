// SPDX-License-Identifier: Apache-2.0
// The MRC rule: planes take turns, so that each carries the same number of packets; inside a plane the QP walks its own
// pseudo-random order of the active paths, drawn anew every round.
//
// SKIP (protocol text §4.2, the reading of lb-sim): a scan restores the first skipped path that it meets to GOOD but
// the packet moves on; further skipped paths stay skipped; when a round finds no GOOD path, the one just restored is
// taken. A skipped path that is congested again stays skipped, no longer than before.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/path_selector.h"
#include "protocol/random_source.h"

namespace mrc::protocol
{

class mrc_selector final : public path_selector
{
public:
    mrc_selector(const path_group &paths, std::uint64_t seed);

    using path_selector::draw;
    [[nodiscard]] std::optional<path_choice> draw(const path_group &paths, plane_mask avoid) override;
    void on_congestion(std::uint16_t slot) override { skipped_[slot] = true; }
    [[nodiscard]] bool skipped(std::uint16_t slot) const { return skipped_[slot]; }

private:
    struct lane_order {
        std::vector<std::uint16_t> positions; // of the plane's active set
        std::size_t next = 0;
    };

    [[nodiscard]] plane next_plane(plane_mask among);
    [[nodiscard]] std::uint16_t next_good(const path_group &paths, plane lane);
    [[nodiscard]] std::optional<std::uint16_t> least_bad(const path_group &paths, plane lane);
    [[nodiscard]] std::optional<path_choice> draw_bad(const path_group &paths, plane_mask usable);

    random_source random_;
    std::array<plane, max_planes> plane_order_{};
    unsigned planes_;
    unsigned plane_turn_ = 0;
    std::array<lane_order, max_planes> lanes_;
    std::vector<bool> skipped_;
};

} // namespace mrc::protocol
