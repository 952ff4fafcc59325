// SPDX-License-Identifier: Apache-2.0
// What the uSIDs of a carrier say about places in the fabric: role (4 bits: 1 spine, 2 to 7 leaf, 8 downlink), plane
// (4), index (8).
#pragma once

#include <algorithm>
#include <cstdint>

#include "mrc/abi/maps.h"

namespace mrc::ctl
{

[[nodiscard]] inline mrc_carrier carrier_in(const mrc_ip &address)
{
    mrc_carrier carrier{};
    std::ranges::copy(address.bytes, carrier.bytes);
    return carrier;
}

// The number of the leaf whose uSID it is: leaves beyond 256 have further roles.
[[nodiscard]] inline std::uint32_t leaf_of(std::uint16_t usid)
{
    constexpr unsigned role_shift = 12;
    constexpr unsigned index_bits = 8;
    constexpr unsigned first_leaf_role = 2;
    return ((usid >> role_shift) - first_leaf_role) << index_bits | (usid & MRC_USID_INDEX_MASK);
}

} // namespace mrc::ctl
