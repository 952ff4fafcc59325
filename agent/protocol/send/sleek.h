// SPDX-License-Identifier: Apache-2.0
// The last resort of loss detection (SLEEK of the UET reference simulator; decision D14): so many packets have arrived
// out of order that waiting for the same-EV rule or for age makes no sense, as with a peer that reflects no
// entropy, over so many paths that no two packets share one.
//
// Recovery begins at ooo_count * packet ≥ max(5 packets, min(1.5 cwnd, max_cwnd)), where cwnd is the largest of the
// last two round trips: what lies at the peer was sent by that window, not by one that has shrunk since. From the edge
// to one cwnd, what was sent once and has had its round trip, with what its path may lag, is lost. It ends when the
// edge passes what was sent when it began.
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/packet_number.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class sleek
{
public:
    // As of each SACK: the windows that what is out of order may have been sent by.
    void note_window(std::uint64_t cwnd, instant now, duration smoothed_rtt)
    {
        if (now - turned_at_ >= smoothed_rtt) {
            earlier_ = now - turned_at_ < 2 * smoothed_rtt ? current_ : 0;
            current_ = 0;
            turned_at_ = now;
        }
        current_ = std::max(current_, cwnd);
    }
    [[nodiscard]] std::uint64_t window() const { return std::max(current_, earlier_); }

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
    std::uint64_t current_ = 0; // bytes: the largest window in this round trip
    std::uint64_t earlier_ = 0; // and in the one before
    instant turned_at_;
    packet_number until_ = 0;
};

} // namespace mrc::protocol
