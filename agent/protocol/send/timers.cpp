// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/timers.h"

#include <algorithm>

#include "protocol/send/path_blame.h"
#include "protocol/send/requester_trace.h"
#include "protocol/send/retransmission.h"
#include "protocol/send/silence.h"

namespace mrc::protocol
{

namespace
{

void on_timeout(requester_state &sender, packet_number number, instant now)
{
    transmission &sent = sender.packets[number];
    if (sent.fate == packet_fate::refused) {
        trace_loss(sender, trace_reason::refused, number, now);
        lose(sender, number, now);
        return;
    }
    if (sender.rtt.has_sample() && sender.untried(sent, now)) {
        trace_packet(sender, trace_kind::timer, trace_reason::waits, number, now);
        sender.timers.arm(sender.packets.index(number), sender.retry.level(sent.failures), now);
        return;
    }
    ++sender.counters.timeouts;
    // "Later" must be later by the margin: packets of the instant in which everything stopped prove nothing.
    if (sender.reached < sent.sent_at + sender.reordering_margin()) {
        trace_packet(sender, trace_kind::timer, trace_reason::peer_silent, number, now);
        fall_silent(sender, number, now);
        return; // the peer's silence has its own back-off
    }
    trace_packet(sender, trace_kind::timer, trace_reason::time_out, number, now);
    trace_loss(sender, trace_reason::time_out, number, now);
    if (sender.way.paths.evidence().delivered(sent.slot) > sent.sent_at) {
        blame_loss(sender, sent, now);
        lose(sender, number, now);
    } else {
        blame_silence(sender, sent, now);
        lose(sender, number, now, loss_of::path);
    }
    sent.count_failure();
}

instant gives_up_at(const requester_state &sender)
{
    return sender.retry.gives_up() && sender.waiting() ? sender.progress_at + sender.retry.gives_up_after() : never;
}

// Called much too late: this host was off its CPU, and answers may wait unread.
void forgive_lateness(requester_state &sender, instant now)
{
    const instant due = sender.timers.next_deadline(sender.retry, sender.rto(), sender.timer_floor);
    if (due != never && now > due && now - due > sender.rto() / 2) {
        forgive_waits(sender, now);
        sender.blame_floor = sender.order;
    }
}

void expire_packets(requester_state &sender, instant now)
{
    while (!sender.silence.active()) {
        const auto index = sender.timers.expire(sender.retry, sender.rto(), sender.timer_floor, now);
        if (!index)
            break;
        on_timeout(sender, sender.packets.number_at(*index, sender.edge()), now);
    }
}

// When the oldest packet is late by its age; never: it is not, or its path has been asked.
instant late_at(const requester_state &sender)
{
    if (sender.edge() >= sender.next)
        return never;
    const transmission &oldest = sender.packets[sender.edge()];
    if (sender.reached < oldest.sent_at || oldest.fate != packet_fate::inflight || oldest.order == sender.asked_about ||
        !sender.rtt.has_sample())
        return never;
    const duration rtt = sender.rtt.smoothed();
    const bool tried = sender.way.paths.evidence().carried(oldest.slot);
    return oldest.sent_at + std::max(rtt + sender.skew.margin(rtt), tried ? 0 * rtt : sender.first_answer_rtts * rtt);
}

void ask_for_late(requester_state &sender, instant now)
{
    if (sender.silence.active() || now < late_at(sender))
        return;
    const transmission &oldest = sender.packets[sender.edge()];
    trace_packet(sender, trace_kind::timer, trace_reason::late, sender.edge(), now);
    sender.asked_about = oldest.order;
    sender.due.probe = true;
    sender.tail.on_activity(now);
}

void probe_quiet_tail(requester_state &sender, instant now)
{
    if (sender.silence.active() || !sender.waiting() ||
        now < sender.tail.next_deadline(sender.rtt, sender.retry.shortest()))
        return;
    trace_timer(sender, trace_reason::quiet, now);
    const bool all_sacked = sender.edge() == sender.next;
    sender.due.probe = true;
    sender.due.last_again = sender.due.last_again || (all_sacked && sender.tail.unanswered() != 0);
    sender.tail.on_activity(now); // also when no path takes the probe: try again later, not at once
}

} // namespace

void forgive_standstill(requester_state &sender, instant now)
{
    const instant due = std::max(next_deadline(sender), sender.looked_at);
    if (due != never && now > due && now - due > sender.rto() / 2)
        sender.progress_at = std::min(sender.progress_at + (now - due), now);
}

void on_timer(requester_state &sender, instant now)
{
    if (sender.failure)
        return;
    look(sender, now);
    leave_dead_paths(sender, now);
    if (now >= gives_up_at(sender)) {
        trace_timer(sender, trace_reason::gives_up, now);
        sender.failure = completion_status::retry_exceeded;
        return;
    }
    if (sender.silence.active()) {
        stay_silent(sender, now);
        return;
    }
    forgive_lateness(sender, now);
    expire_packets(sender, now);
    leave_dead_paths(sender, now);
    ask_for_late(sender, now);
    probe_quiet_tail(sender, now);
}

instant next_deadline(const requester_state &sender)
{
    if (sender.failure)
        return never;
    const instant gives_up = gives_up_at(sender);
    if (sender.silence.active())
        return std::min(gives_up, sender.silence.next_deadline());
    instant due = std::min(
        {gives_up, sender.timers.next_deadline(sender.retry, sender.rto(), sender.timer_floor), late_at(sender)});
    if (sender.waiting())
        due = std::min(due, sender.tail.next_deadline(sender.rtt, sender.retry.shortest()));
    return due;
}

} // namespace mrc::protocol
