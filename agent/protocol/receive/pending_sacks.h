// SPDX-License-Identifier: Apache-2.0
// SACKs that wait to be sent: what triggered each. A SACK is written when it leaves, so it tells the newest state
// whatever triggered it; of the trigger it tells path, time stamp and mark. So where packets ask for an answer before
// one is due (marks, AckReq, duplicates), the newest takes the place of what waits for its path already: a host that
// was off its CPU answers once per path and per 16 KiB, not once per packet, and all of its paths are heard of. Not so
// with probes, whose ids are waited for one by one, and retransmissions, which acquit or convict a path.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/packet_number.h"
#include "protocol/slab_queue.h"
#include "protocol/types.h"

namespace mrc::protocol
{

struct sack_trigger {
    packet_number number = 0;
    ev entropy;
    std::uint16_t tx_timestamp = 0;
    std::uint16_t probe_id = 0;
    bool probe = false;
    bool congested = false;
    bool retransmission = false;
    bool due = false; // by the bytes that have arrived, not only because the packet asks
    path_index path;
    instant arrived;
    std::uint8_t penalty = 0; // for the time that it waited in this host
};

class pending_sacks
{
public:
    static constexpr std::size_t capacity = 64; // paths that are answered between two turns of the QP

    explicit pending_sacks(slab_pool *pool = nullptr) : waiting_{capacity, pool} {}

    [[nodiscard]] bool empty() const { return waiting_.empty(); }
    enum class outcome : std::uint8_t {
        queued,
        renewed,   // what waited for its path
        displaced, // the oldest has gone for it: the newest tells more
        no_memory, // it has gone itself
    };
    outcome put(const sack_trigger &trigger)
    {
        if (!trigger.probe && !trigger.retransmission && !trigger.due)
            for (std::size_t i = 0; i < waiting_.size(); ++i)
                if (renew(waiting_[i], trigger))
                    return outcome::renewed;
        if (waiting_.push(trigger))
            return outcome::queued;
        if (waiting_.empty())
            return outcome::no_memory;
        (void)waiting_.pop();
        (void)waiting_.push(trigger);
        return outcome::displaced;
    }
    // Precondition of both: not empty.
    [[nodiscard]] const sack_trigger &front() const { return waiting_.front(); }
    sack_trigger pop() { return waiting_.pop(); }

    void rest() { waiting_.rest(); }
    void announce() const { waiting_.announce(); }

private:
    // A SACK says of one packet whether it was marked: a marked one gives way to a marked one only.
    static bool renew(sack_trigger &waiting, const sack_trigger &trigger)
    {
        if (waiting.path != trigger.path || waiting.entropy != trigger.entropy || waiting.probe ||
            waiting.retransmission)
            return false;
        if (waiting.congested && !trigger.congested)
            return true;
        const bool due = waiting.due;
        waiting = trigger;
        waiting.due = due;
        return true;
    }

    slab_queue<sack_trigger> waiting_;
};

} // namespace mrc::protocol
