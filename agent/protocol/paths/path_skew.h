// SPDX-License-Identifier: Apache-2.0
// How far the paths of one QP lag behind each other, and the loss rule that follows (age beyond path skew): a packet
// that a SACK reports missing is lost once a packet sent later by more than the skew has arrived, on whatever path. It
// finds what the same-EV rule cannot: losses on a path that delivers nothing any more.
//
// The skew is measured: every first transmission that is confirmed after one sent later had been is late by the
// difference. The largest lateness of the last two periods counts. Twice that, and half an RTT for what has not been
// seen yet, is the margin. A packet that arrives after the rule had given it up widens the margin at once.
//
// What is lost is sent again, so that rule forgets soon: a period is 64 smoothed RTTs, at least 10 ms of a busy host's
// life. A path that is blamed falsely is gone for longer, and hosts whose planes share cores stall several times a
// second: tolerance(), which has to be exceeded before a path is blamed, remembers for a second.
#pragma once

#include <algorithm>
#include <array>

#include "protocol/send/loss_detector.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class path_skew
{
public:
    // A transmission sent at `sent_at` is known to have arrived, while of those confirmed by earlier SACKs the latest
    // was sent at latest().
    void on_delivered(instant sent_at, instant now, duration smoothed_rtt)
    {
        newest_ = std::max(newest_, sent_at);
        if (sent_at >= latest_)
            return;
        loss_.note(latest_ - sent_at, now, std::max(period_rtts * smoothed_rtt, loss_memory));
        blame_.note(latest_ - sent_at, now, blame_memory);
    }
    // All of one SACK has been told.
    void end_sack() { latest_ = newest_; }

    [[nodiscard]] duration skew() const { return loss_.most(); }
    [[nodiscard]] duration margin(duration smoothed_rtt) const { return 2 * skew() + smoothed_rtt / 2; }
    [[nodiscard]] duration tolerance() const { return std::min(2 * blame_.most(), most_tolerance); }

private:
    static constexpr int period_rtts = 64;
    static constexpr duration loss_memory = std::chrono::milliseconds{10};
    static constexpr duration blame_memory = std::chrono::seconds{1};
    static constexpr duration most_tolerance = std::chrono::milliseconds{10};

    // The largest of the last two periods.
    class recent_maximum
    {
    public:
        void note(duration value, instant now, duration period)
        {
            if (now - turned_at_ >= period) {
                earlier_ = now - turned_at_ < 2 * period ? current_ : duration{0};
                current_ = duration{0};
                turned_at_ = now;
            }
            current_ = std::max(current_, value);
        }
        [[nodiscard]] duration most() const { return std::max(current_, earlier_); }

    private:
        instant turned_at_;
        duration current_{0};
        duration earlier_{0};
    };

    instant newest_;
    instant latest_;
    recent_maximum loss_;
    recent_maximum blame_;
};

// What one SACK proves about the latest packet that arrived, by DSCP class: retransmissions ride ahead of data, so they
// tell nothing of packets sent first.
class age_evidence
{
public:
    void proves(traffic_class in, instant sent_at)
    {
        instant &latest = latest_[static_cast<std::size_t>(in)];
        latest = std::max(latest, sent_at);
    }
    [[nodiscard]] bool lost(traffic_class in, instant sent_at, duration margin) const
    {
        const instant latest = in == traffic_class::first_transmission ? latest_[0] : std::max(latest_[0], latest_[1]);
        return latest - sent_at > margin;
    }

private:
    std::array<instant, 2> latest_{};
};

} // namespace mrc::protocol
