// SPDX-License-Identifier: Apache-2.0
// A flow that is forced onto one path, whatever happens there: for experiments.
#pragma once

#include "protocol/paths/path_selector.h"

namespace mrc::sim
{

class pinned_path final : public protocol::path_selector
{
public:
    explicit pinned_path(unsigned slot) : slot_{slot} {}

    [[nodiscard]] std::optional<protocol::path_choice>
    draw(const protocol::path_group &paths, protocol::plane_mask usable, const protocol::path_avoidance &) override
    {
        const protocol::path_choice only = paths.path(slot_);
        return usable.has(only.plane) ? std::optional{only} : std::nullopt;
    }
    void on_feedback(std::uint16_t, protocol::path_feedback) override {}

private:
    unsigned slot_;
};

} // namespace mrc::sim
