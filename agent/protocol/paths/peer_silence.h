// SPDX-License-Identifier: Apache-2.0
// What a requester does while nothing at all comes back to it: the peer, not a path, is silent (a host off its CPU for
// milliseconds, all planes dark, a dead process or host). It blames nothing, sends no new data, probes, and sends the
// oldest packet again at growing intervals. What it has in flight leaves the congestion window, for other QPs of the
// host may be well.
//
// A time-out, when nothing that the QP sent since has arrived, begins it. Whatever comes from the peer's QP ends it: the
// timers restart, blame is forgiven. That another QP hears the peer's host does not.
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
    [[nodiscard]] unsigned attempts() const { return attempts_; }

    void begin(instant now, const retry_policy &policy, duration rto)
    {
        active_ = true;
        attempts_ = 0;
        retry_at_ = now;
        probe_at_ = now;
        (void)retry_due(now, policy, rto);
    }
    void end() { active_ = false; }

    // True when the oldest packet is due again.
    [[nodiscard]] bool retry_due(instant now, const retry_policy &policy, duration rto)
    {
        if (!active_ || now < retry_at_)
            return false;
        retry_at_ = now + retry_policy::wait(policy.level(++attempts_), rto);
        return true;
    }
    [[nodiscard]] bool probe_due(instant now, duration rto)
    {
        if (!active_ || now < probe_at_)
            return false;
        probe_at_ = now + std::min(retry_policy::wait(std::min(attempts_, 16u), rto), longest_probe_interval);
        return true;
    }

private:
    // How late a peer's return is noticed, whatever the retries have grown to.
    static constexpr duration longest_probe_interval = std::chrono::milliseconds{100};

    bool active_ = false;
    unsigned attempts_ = 0;
    instant retry_at_;
    instant probe_at_;
};

} // namespace mrc::protocol
