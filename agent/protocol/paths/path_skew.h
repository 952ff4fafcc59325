// SPDX-License-Identifier: Apache-2.0
// How far the paths of one QP lag behind each other, and the loss rule that follows (age beyond path skew): a packet
// that a SACK reports missing is lost once a packet sent later by more than the skew has arrived, on whatever path. It
// finds what the same-EV rule cannot: losses on a path that delivers nothing any more.
//
// The skew is measured: every packet that is confirmed after one sent later had been is late by the difference. The
// margin is the largest lateness of late, and half an RTT for what has not been seen yet. What a lateness counts, and
// how long it is remembered, depends on what it did:
//
// margin()     waited for                twice, for a period of 64 smoothed RTTs, at least 10 ms of a busy host's life
// margin()     sent again for nothing    once, for a second at least: such a host stalls several times in one
// tolerance()  either                    twice, for a second at least: a path that is blamed falsely is gone for longer
//
// Afterwards half of it counts for another period, then a quarter, and so on.
//
// The second row is RACK's reordering window (RFC 8985, section 7.1), which also widens when a retransmission turns out
// to have been needless, and stays wide for a while.
#pragma once

#include <algorithm>
#include <array>

#include "protocol/fading_maximum.h"
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
        const duration late = sent_at < latest_ ? latest_ - sent_at : duration{0};
        waited_for_.note(late, now, std::max(period_rtts * smoothed_rtt, short_memory));
        sent_again_.note(duration{0}, now, long_memory);
        tolerated_.note(late, now, long_memory);
    }
    // The packet had been sent again for nothing: its first transmission, of that time, is what has arrived.
    void on_needless(instant first_sent_at, instant now)
    {
        if (first_sent_at < latest_)
            on_late(latest_ - first_sent_at, now);
    }
    // Something came so much later than a round trip that the packet it speaks of is forgotten: by then it had been
    // sent again, or acknowledged on other paths.
    void on_late(duration late, instant now)
    {
        sent_again_.note(late, now, long_memory);
        tolerated_.note(late, now, long_memory);
    }
    // All of one SACK has been told.
    void end_sack() { latest_ = newest_; }

    // How much later than others a packet may arrive by what is known. Bounded, for time-outs wait for it.
    [[nodiscard]] duration lag() const
    {
        return std::min(std::max(2 * waited_for_.most(), sent_again_.most()), most_lag);
    }
    [[nodiscard]] duration margin(duration smoothed_rtt) const { return lag() + smoothed_rtt / 2; }
    // By so much a packet is late for what its path has lagged by just now: not lost, but worth a question.
    [[nodiscard]] duration doubt(duration smoothed_rtt) const
    {
        return std::min(2 * waited_for_.most(), most_lag) + smoothed_rtt / 2;
    }
    [[nodiscard]] duration tolerance() const { return std::min(2 * tolerated_.most(), most_tolerance); }

private:
    static constexpr int period_rtts = 64;
    static constexpr duration short_memory = std::chrono::milliseconds{10};
    static constexpr duration long_memory = std::chrono::seconds{1};
    static constexpr duration most_lag = std::chrono::milliseconds{20};
    static constexpr duration most_tolerance = std::chrono::milliseconds{10};

    instant newest_;
    instant latest_;
    fading_maximum<duration> waited_for_;
    fading_maximum<duration> sent_again_;
    fading_maximum<duration> tolerated_;
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
