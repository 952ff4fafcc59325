// SPDX-License-Identifier: Apache-2.0
// PSNs without wrap: packet n of a direction has PSN first + n. State machines count packets; only the wire wraps.
#pragma once

#include <cstdint>

#include "protocol/types.h"

namespace mrc::protocol
{

using packet_number = std::int64_t; // from 0; -1 stands for "before the first"

class psn_space
{
public:
    explicit constexpr psn_space(psn first) : first_{first} {}

    [[nodiscard]] constexpr psn at(packet_number number) const
    {
        return psn{static_cast<std::uint32_t>(number) + first_.value()};
    }
    // The number nearest to `reference` that has this PSN: within -2^23 … 2^23 - 1 of it, perhaps below -1.
    [[nodiscard]] constexpr packet_number number_of(psn sequence, packet_number reference) const
    {
        return reference + (sequence - at(reference));
    }

private:
    psn first_;
};

// Inner IPv6 packet of a data packet with TSETH (UDP length + 40, decision D10): what inflight and rcvd_bytes count.
[[nodiscard]] constexpr std::uint32_t nominal_bytes(std::uint32_t payload_bytes)
{
    constexpr std::uint32_t headers =
        40 + 8 + sizeof(mrc_bth) + sizeof(mrc_meth) + sizeof(mrc_tseth) + sizeof(mrc_reth);
    return headers + (payload_bytes + 3) / 4 * 4 + MRC_ICRC_LEN;
}

} // namespace mrc::protocol
