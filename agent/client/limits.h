// SPDX-License-Identifier: Apache-2.0
// What one object of this library can hold, as ibv_query_device and mrc_query_device tell it. Limits of a client as a
// whole are the daemon's: host_description.
#pragma once

#include <cstdint>

namespace mrc::client
{

inline constexpr std::uint8_t mpr_resolution = 1;                          // units of 128 PSNs
inline constexpr std::uint32_t max_qp_hints = 1024;                        // of one mrc_context
inline constexpr std::uint32_t max_message_bytes = std::uint32_t{1} << 31; // of one work request
inline constexpr int max_sge = 16;                                         // of one work request
inline constexpr int completion_vectors = 1;

} // namespace mrc::client
