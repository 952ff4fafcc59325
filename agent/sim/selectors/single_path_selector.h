// SPDX-License-Identifier: Apache-2.0
// One path for the life of the QP, the baseline that RoCE is: its five-tuple hashes to one path, here the seed does.
// It ignores congestion, loss and `avoid`, and moves, for good, only when it cannot send at all there: the plane is not
// usable, or the operator denied the path. K such QPs side by side are the paper's "RoCE, K QPs" (protocol.md §8.1).
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/paths/path_selector.h"
#include "sim/selectors/oblivious_selector.h"

namespace mrc::sim
{

class single_path_selector final : public protocol::path_selector
{
public:
    explicit single_path_selector(std::uint64_t seed) : hash_{seed} {}

    [[nodiscard]] std::optional<protocol::path_choice> draw(const protocol::path_group &paths,
                                                            protocol::plane_mask usable,
                                                            const protocol::path_avoidance &avoid) override;
    void on_feedback(std::uint16_t, protocol::path_feedback) override {}

private:
    oblivious_selector hash_;
    std::optional<std::uint16_t> slot_; // the path in use
};

} // namespace mrc::sim
