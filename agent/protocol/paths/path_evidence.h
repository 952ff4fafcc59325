// SPDX-License-Identifier: Apache-2.0
// What is known about deliveries per path: the ground on which a path may be blamed.
//
// Software hosts stall for milliseconds. A time-out alone therefore says nothing about a path: the peer, or this host,
// may have been off its CPU. Blame needs relative evidence: a packet sent later on another path has arrived, and
// nothing sent at the time or later has arrived on this one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "protocol/types.h"

namespace mrc::protocol
{

class path_evidence
{
public:
    explicit path_evidence(unsigned slots) : paths_(slots) {}

    void on_sent(unsigned slot) { ++paths_[slot].unanswered; }
    void on_delivered(unsigned slot, instant sent_at)
    {
        record &path = paths_[slot];
        path.history <<= 1;
        path.unanswered = 0;
        if (sent_at <= path.delivered)
            return;
        path.delivered = sent_at;

        auto &[first, second] = leaders_;
        if (sent_at > first.delivered) {
            if (first.slot != slot)
                second = first;
            first = {slot, sent_at};
        } else if (first.slot != slot && sent_at > second.delivered) {
            second = {slot, sent_at};
        }
    }
    // Shifts a loss into the path's history.
    void on_loss(unsigned slot);
    // The path begins anew: what was lost, or never answered, says nothing any more.
    void forget(unsigned slot)
    {
        paths_[slot].history = 0;
        paths_[slot].unanswered = 0;
    }

    // Latest sending time of a packet known to have arrived on this path.
    [[nodiscard]] instant delivered(unsigned slot) const { return paths_[slot].delivered; }
    // A queue pair's packet, not a probe, which others answer, and sooner.
    void on_carried(unsigned slot) { paths_[slot].carried = true; }
    // Has it ever carried one? Until then nobody knows how long that takes.
    [[nodiscard]] bool carried(unsigned slot) const { return paths_[slot].carried; }
    // Has the path ever delivered anything? Until then nobody knows whether it leads anywhere.
    [[nodiscard]] bool heard(unsigned slot) const { return paths_[slot].delivered != long_ago; }
    // As many packets as such a path is tried with are under way on it, while another one is known to deliver.
    [[nodiscard]] bool on_trial(unsigned slot) const
    {
        return !heard(slot) && paths_[slot].unanswered >= trial_packets && leaders_[0].delivered != long_ago;
    }
    // Has a packet sent at or after `since` arrived on any path but this one?
    [[nodiscard]] bool delivered_elsewhere(unsigned slot, instant since) const;
    [[nodiscard]] unsigned recent_losses(unsigned slot, unsigned span) const;
    // Packets sent since the last known delivery.
    [[nodiscard]] std::uint32_t unanswered(unsigned slot) const { return paths_[slot].unanswered; }

private:
    static constexpr instant long_ago = instant::min();
    static constexpr std::uint32_t trial_packets = 4;
    struct record {
        instant delivered = long_ago;
        std::uint32_t history = 0; // bit 0 is the latest outcome; 1 = lost
        std::uint32_t unanswered = 0;
        bool carried = false;
    };
    struct leader {
        unsigned slot = 0;
        instant delivered = long_ago;
    };

    std::vector<record> paths_;
    std::array<leader, 2> leaders_; // the two latest deliveries on different paths
};

} // namespace mrc::protocol
