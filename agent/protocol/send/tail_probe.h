// SPDX-License-Identifier: Apache-2.0
// Reliability probes (PETH) at a quiet tail: something is unacknowledged and nothing has been sent or heard for a
// while. The first travels on the path and in the class of the oldest packet in flight: its answer proves by the
// same-EV rule whether that packet is lost, one RTT later instead of one RTO. A second goes along on another plane:
// when the path delivers nothing any more, its answer proves the loss by age. Unanswered, the next take other paths, at
// twice the interval.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "protocol/send/loss_detector.h"
#include "protocol/send/rtt_estimator.h"
#include "protocol/slab_ring.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class tail_probe
{
public:
    struct sent_probe {
        std::uint64_t order = 0; // 0: none
        std::uint16_t id = 0;
        std::uint16_t slot = 0;
        traffic_class in = traffic_class::first_transmission;
        instant sent_at;
        bool clean = false; // in the control class, for its RTT alone: it overtakes data, so it proves nothing
    };

    explicit tail_probe(slab_pool *pool = nullptr) : sent_{remembered, pool} {}

    // Memory to know the answer by; false: there is none, and a probe would be of no use.
    [[nodiscard]] bool hold() { return sent_.hold(); }
    void rest() { sent_.give_back(); }
    void announce() const { sent_.announce(); }

    void on_activity(instant now) { quiet_since_ = std::max(quiet_since_, now); }
    void on_heard(instant now)
    {
        on_activity(now);
        unanswered_ = 0;
    }
    [[nodiscard]] unsigned unanswered() const { return unanswered_; }

    [[nodiscard]] instant next_deadline(const rtt_estimator &rtt, duration shortest) const
    {
        return quiet_since_ + interval(rtt, shortest) * (std::int64_t{1} << std::min(unanswered_, 10u));
    }

    // Precondition, as of on_clean_sent: held.
    [[nodiscard]] std::uint16_t on_sent(std::uint16_t slot, traffic_class in, std::uint64_t order, instant now)
    {
        const std::uint16_t id = next_id_++;
        sent_[id] = {order, id, slot, in, now};
        on_activity(now);
        return id;
    }
    // They have been sent; the next wait.
    void on_round() { ++unanswered_; }
    [[nodiscard]] std::uint16_t on_clean_sent(std::uint16_t slot, std::uint64_t order, instant now)
    {
        const std::uint16_t id = next_id_++;
        sent_[id] = {order, id, slot, traffic_class::first_transmission, now, true};
        return id;
    }
    // The probe that an answer belongs to, once.
    [[nodiscard]] std::optional<sent_probe> take(std::uint16_t id)
    {
        if (!sent_.held())
            return std::nullopt;
        sent_probe &found = sent_[id];
        if (found.order == 0 || found.id != id)
            return std::nullopt;
        const sent_probe answered = found;
        found.order = 0;
        return answered;
    }

private:
    static constexpr std::size_t remembered = 8;

    [[nodiscard]] static duration interval(const rtt_estimator &rtt, duration shortest)
    {
        if (!rtt.has_sample())
            return rtt.timeout(shortest) / 2;
        return std::max(2 * rtt.smoothed(), shortest / 2); // RFC 8985, section 7.2: a probe in vain costs little
    }

    instant quiet_since_;
    unsigned unanswered_ = 0;
    std::uint16_t next_id_ = 1;
    slab_ring<sent_probe> sent_; // by id
};

} // namespace mrc::protocol
