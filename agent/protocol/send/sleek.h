// SPDX-License-Identifier: Apache-2.0
// The last resort of loss detection (SLEEK of the UET reference simulator; decision D14): so many packets have arrived
// out of order that waiting for the same-EV rule or for age makes no sense, as with a peer that reflects no
// entropy, over so many paths that no two packets share one.
//
// Recovery begins at ooo_count * packet ≥ max(5 packets, 1.5 cwnd): from the edge to one cwnd, what was sent once, an RTT
// ago or more, is lost. It ends when the edge passes what was sent when it began.
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/packet_number.h"

namespace mrc::protocol
{

class sleek
{
public:
    // True when recovery begins; it lasts until the edge reaches `next`.
    [[nodiscard]] bool begins(std::uint32_t out_of_order, std::uint64_t cwnd, std::uint32_t packet_bytes,
                              packet_number edge, packet_number next)
    {
        if (edge < until_)
            return false;
        const std::uint64_t threshold = std::max<std::uint64_t>(std::uint64_t{5} * packet_bytes, cwnd + cwnd / 2);
        if (std::uint64_t{out_of_order} * packet_bytes < threshold)
            return false;
        until_ = next;
        return true;
    }

private:
    packet_number until_ = 0;
};

} // namespace mrc::protocol
