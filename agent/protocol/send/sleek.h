// SPDX-License-Identifier: Apache-2.0
// The last resort of loss detection (SLEEK of the UET reference simulator; decision D14): so many packets have arrived
// out of order that waiting for the same-EV rule or for age makes no sense, as with a peer that reflects no
// entropy, over so many paths that no two packets share one.
//
// Recovery begins at ooo_count * packet ≥ max(5 packets, min(1.5 cwnd, max_cwnd)), where cwnd is the largest of late
// (fading_maximum.h, by round trips): what lies at the peer was sent by that window, not by one that has shrunk since.
// From the edge to one cwnd, what was sent once and has had its round trip, with what its path may lag, is lost. It
// ends when the edge passes what was sent when it began.
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/fading_maximum.h"
#include "protocol/packet_number.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class sleek
{
public:
    // As of each SACK: the windows that what is out of order may have been sent by.
    void note_window(std::uint64_t cwnd, instant now, duration smoothed_rtt) { cwnd_.note(cwnd, now, smoothed_rtt); }
    [[nodiscard]] std::uint64_t window() const { return cwnd_.most(); }

    // True when recovery begins; it lasts until the edge reaches `next`.
    [[nodiscard]] bool begins(std::uint32_t out_of_order, std::uint64_t max_cwnd, std::uint32_t packet_bytes,
                              packet_number edge, packet_number next)
    {
        if (edge < until_)
            return false;
        const std::uint64_t windows = std::min(window() + window() / 2, max_cwnd);
        if (std::uint64_t{out_of_order} * packet_bytes < std::max(std::uint64_t{5} * packet_bytes, windows))
            return false;
        until_ = next;
        return true;
    }

private:
    fading_maximum<std::uint64_t> cwnd_; // bytes, by round trips
    packet_number until_ = 0;
};

} // namespace mrc::protocol
