// SPDX-License-Identifier: Apache-2.0
// Oblivious packet spraying, a baseline: every packet draws a plane and one of its active paths at random, whatever
// became of the packets before. No memory, so no skipped turns; health counts only as far as the path group itself
// replaces retired paths by backups. The operator's word counts: unusable planes and DENIED paths are not drawn.
// Source: "OPS" in Bonato et al., REPS (arXiv 2407.21625), and UET's oblivious load balancing (protocol.md §11).
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/paths/path_selector.h"
#include "protocol/random_source.h"

namespace mrc::sim
{

class oblivious_selector final : public protocol::path_selector
{
public:
    explicit oblivious_selector(std::uint64_t seed) : random_{seed} {}

    [[nodiscard]] std::optional<protocol::path_choice> draw(const protocol::path_group &paths,
                                                            protocol::plane_mask usable,
                                                            const protocol::path_avoidance &avoid) override;
    void on_feedback(std::uint16_t, protocol::path_feedback) override {}

private:
    [[nodiscard]] std::optional<std::uint16_t> draw_slot(const protocol::path_group &paths, protocol::plane_mask among,
                                                         std::optional<std::uint16_t> avoided);

    protocol::random_source random_;
};

} // namespace mrc::sim
