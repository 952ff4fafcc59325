// SPDX-License-Identifier: Apache-2.0
// What a requester does while nothing at all comes back to it: the peer, not a path, is silent (a host off its CPU for
// milliseconds, all planes dark, a dead process or host). It blames nothing, sends no new data, and asks by probes: the
// answer says what has arrived, and by its age what has not, so nothing is sent again before it is known to be missing.
// Only when silence lasts for longer than a host's pause does the oldest packet go out again, too, at growing
// intervals: for a peer that answers no probes. What is in flight leaves the congestion window, for other QPs of the
// host may be well.
//
// A time-out, when nothing that the QP sent since has arrived, begins it. Whatever comes from the peer's QP ends it:
// the timers restart, blame is forgiven. That another QP hears the peer's host does not.
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/packet_number.h"
#include "protocol/send/retry_policy.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class peer_silence
{
public:
    [[nodiscard]] bool active() const { return active_; }
    [[nodiscard]] instant next_deadline() const { return active_ ? std::min(retry_at_, probe_at_) : never; }

    void begin(instant now, duration rto)
    {
        active_ = true;
        probes_ = copies_ = 0;
        probe_at_ = now;
        retry_at_ = now + copy_interval(rto);
    }
    void end() { active_ = false; }

    // True when the oldest packet is due again.
    [[nodiscard]] bool retry_due(instant now, duration rto)
    {
        if (!active_ || now < retry_at_)
            return false;
        ++copies_;
        retry_at_ = now + copy_interval(rto);
        return true;
    }
    [[nodiscard]] bool probe_due(instant now, const retry_policy &policy, duration rto)
    {
        if (!active_ || now < probe_at_)
            return false;
        probe_at_ = now + std::min(policy.wait(policy.level(++probes_), rto), longest_probe_interval);
        return true;
    }

private:
    // How late a peer's return is noticed, whatever the intervals have grown to.
    static constexpr duration longest_probe_interval = std::chrono::milliseconds{100};
    // A host that shares its cores is off them for this long now and then, and answers when it is back.
    static constexpr duration usual_pause = std::chrono::milliseconds{4};

    [[nodiscard]] duration copy_interval(duration rto) const
    {
        return retry_policy::doubled(std::max(rto, usual_pause), std::min(copies_, retry_policy::max_level));
    }

    bool active_ = false;
    unsigned probes_ = 0;
    unsigned copies_ = 0;
    instant retry_at_;
    instant probe_at_;
};

} // namespace mrc::protocol
