// SPDX-License-Identifier: Apache-2.0
// The largest window (MPR): where the fields of a SACK end (docs/interop.md, D15). PSNs, of which 2^23 can be told
// apart, and the bitmaps of both ends would allow more.
#pragma once

#include <cstdint>
#include <limits>

#include "mrc/abi/wire.h"

namespace mrc::protocol
{

inline constexpr std::uint32_t largest_window_units = std::numeric_limits<decltype(mrc_seth::mpr)>::max();
inline constexpr std::uint32_t largest_window_psns = largest_window_units * MRC_MPR_UNIT;
static_assert(largest_window_psns <= std::numeric_limits<std::int16_t>::max(),
              "ack_psn_offset and sack_offset name any packet of the window, counted from cack");
static_assert(largest_window_psns <= MRC_CC_OOO_MASK, "ooo_count counts all of them");

} // namespace mrc::protocol
