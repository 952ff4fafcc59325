// SPDX-License-Identifier: Apache-2.0
// On which planes this host has a neighbour on the way to each peer of a direct fabric. In an SRv6 fabric the leaf is
// the neighbour for all of them, and what its port says is enough.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "protocol/types.h"

namespace mrc::service
{

class linked_planes
{
public:
    // Of so many listed hosts; 0: on all planes to all.
    explicit linked_planes(std::size_t hosts) : masks_(hosts) {}
    linked_planes(const linked_planes &) = delete; // path groups look at its masks
    linked_planes &operator=(const linked_planes &) = delete;

    // Stays where it is.
    [[nodiscard]] const protocol::plane_mask &to(std::uint32_t leaf) const
    {
        return leaf < masks_.size() ? masks_[leaf] : protocol::every_plane;
    }
    // One store for a peer.
    void follow(std::span<const protocol::plane_mask> masks)
    {
        std::ranges::copy(masks.first(std::min(masks.size(), masks_.size())), masks_.begin());
    }

private:
    std::vector<protocol::plane_mask> masks_;
};

} // namespace mrc::service
