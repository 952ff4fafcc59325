// SPDX-License-Identifier: Apache-2.0
// What has become of the loops of one way. A loop that does not come back is lost only if this host was receiving
// meanwhile; that its CPUs were busy, or its thread late, is no fault of the fabric.
//
// not back after           and                                                      it is
// overtaken                a later one of the same way has come back                lost
// silence                  one of another way, sent well after it, has come back    lost
// forlorn                  no round of the sender was late since it was sent        lost
// forlorn                  else                                                     unjudged: counted nowhere
//
// One that comes back after all, until `forlorn` has passed, takes the verdict back. Sans-IO, times as arguments.
#pragma once

#include <array>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <optional>

#include "mrc/abi/maps.h"
#include "protocol/types.h"

namespace mrc::service
{

enum class loop_fate : std::uint8_t {
    arrived,
    lost,
    late, // back, having been judged lost
    unjudged
};

struct loop_outcome {
    protocol::instant sent;
    loop_fate fate = loop_fate::unjudged;
    std::uint32_t rtt_ns = 0; // of what has arrived
};

// That this host receives, though a loop has not come back.
struct reception {
    protocol::instant heard = protocol::instant::min(); // when the latest that has come back by another way was sent
    protocol::instant punctual_since = protocol::instant::min(); // no round of the sender was late since
};

class loop_record
{
public:
    static constexpr std::uint32_t slots = MRC_LOOP_SLOTS;
    static constexpr protocol::duration overtaken = std::chrono::milliseconds{10};
    static constexpr protocol::duration silence = std::chrono::milliseconds{100};
    static constexpr protocol::duration heard_after = silence / 2;
    static constexpr protocol::duration forlorn = std::chrono::milliseconds{300};

    // Of the loop that is sent next.
    [[nodiscard]] std::uint32_t next_number() const { return next_; }
    // Nothing may be sent before more is judged.
    [[nodiscard]] bool is_full() const { return next_ - settled_ >= slots; }
    void on_sent(protocol::instant now)
    {
        sent_[next_ % slots] = now;
        lost_[next_ % slots] = false;
        ++next_;
    }
    // What is under way is forgotten: the port is another, or was out of use.
    void forget() { settled_ = oldest_ = next_; }

    // take(loop_outcome) for each loop that can be judged by now, in order, and then for those that are late;
    // arrival(number) is the round trip in ns of a loop that has come back.
    template <typename Arrival, typename Take>
    void judge(protocol::instant now, const reception &meanwhile, Arrival arrival, Take take)
    {
        for (; oldest_ != next_; ++oldest_) {
            const protocol::instant sent = sent_[oldest_ % slots];
            if (const std::optional<std::uint32_t> rtt_ns = arrival(oldest_)) {
                take(loop_outcome{.sent = sent, .fate = loop_fate::arrived, .rtt_ns = *rtt_ns});
                continue;
            }
            const auto fate = fate_of(now, meanwhile, arrival);
            if (!fate)
                break;
            lost_[oldest_ % slots] = *fate == loop_fate::lost;
            take(loop_outcome{.sent = sent, .fate = *fate});
        }
        take_late(now, arrival, take);
    }

private:
    // Of the oldest, which has not come back; none yet.
    template <typename Arrival>
    [[nodiscard]] std::optional<loop_fate> fate_of(protocol::instant now, const reception &meanwhile,
                                                   Arrival arrival) const
    {
        const protocol::instant sent = sent_[oldest_ % slots];
        const protocol::duration age = now - sent;
        if (age < overtaken)
            return std::nullopt;
        for (std::uint32_t later = next_ - 1; later != oldest_; --later)
            if (arrival(later))
                return loop_fate::lost;
        if (age >= silence && meanwhile.heard >= sent + heard_after)
            return loop_fate::lost;
        if (age < forlorn)
            return std::nullopt;
        return meanwhile.punctual_since <= sent ? loop_fate::lost : loop_fate::unjudged;
    }

    template <typename Arrival, typename Take>
    void take_late(protocol::instant now, Arrival arrival, Take take)
    {
        for (std::uint32_t number = settled_; number != oldest_; ++number) {
            auto lost = lost_[number % slots];
            const protocol::instant sent = sent_[number % slots];
            if (lost)
                if (const std::optional<std::uint32_t> rtt_ns = arrival(number)) {
                    lost = false;
                    take(loop_outcome{.sent = sent, .fate = loop_fate::late, .rtt_ns = *rtt_ns});
                }
            if (number == settled_ && (!lost || now - sent >= forlorn))
                ++settled_;
        }
    }

    std::array<protocol::instant, slots> sent_{};
    std::bitset<slots> lost_;   // of those between settled_ and oldest_
    std::uint32_t next_ = 1;    // numbers wrap; 0 is none that has come back, in a slot that was never used
    std::uint32_t oldest_ = 1;  // that is not judged
    std::uint32_t settled_ = 1; // whose verdict may still be taken back
};

} // namespace mrc::service
