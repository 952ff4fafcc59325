// SPDX-License-Identifier: Apache-2.0
// A MAC address (IEEE 802 EUI-48), bytes in the order of the wire.
#pragma once

#include <array>
#include <cstdint>

namespace mrc::codec
{

using mac_address = std::array<std::uint8_t, 6>;

} // namespace mrc::codec
