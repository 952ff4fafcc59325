// SPDX-License-Identifier: Apache-2.0
// What the requester does when time has passed: time-outs of packets, tail probes, giving up.
//
// A time-out is judged by relative evidence (path_evidence.h). That the peer's QP was there must be this QP's own
// experience: its process may have died while others of the host hear on every path.
//
// since the packet was sent …                               the packet  its path
// a later one of this QP arrived, and one of its path       is lost     one loss
// a later one of this QP arrived, none of its path          is lost     silent: ASSUMED_BAD, see path_group.h
// no later one of this QP arrived, whatever others hear     waits       not to blame: the peer is silent
//
// Age is a matter of time as well. A SACK shows it only when something was sent later than the packet by more than
// the margin, and where a flight was short, or the window is full, nothing will be. So when the answer of the oldest
// packet is overdue by the margin (path_skew.h), although one sent later has arrived, two probes ask, as at a quiet
// tail (tail_probe.h), but at 1.5 round trips instead of four. Time alone gives no packet up, as RACK's reordering
// timer does (RFC 8985, section 7.2), and blames no plane: MRC's SACKs are not sent for each packet, so it may have
// arrived, and only the probe's answer says so.
#pragma once

#include "protocol/send/requester_state.h"

namespace mrc::protocol
{

void on_timer(requester_state &sender, instant now);
// Nobody was asked for an answer while this host was off its CPU: a peer that had no question is not given up.
void forgive_standstill(requester_state &sender, instant now);
// First of all whenever the host comes to this queue pair, before anything that is done now changes what was due.
inline void look(requester_state &sender, instant now)
{
    static constexpr duration short_absence = std::chrono::milliseconds{1};
    if (now - sender.looked_at > short_absence)
        forgive_standstill(sender, now);
    sender.looked_at = now;
}
[[nodiscard]] instant next_deadline(const requester_state &sender);

} // namespace mrc::protocol
