// SPDX-License-Identifier: Apache-2.0
// Requester, waiting: time-outs, silence, probes, and what the state of paths means for packets in flight.
#include <algorithm>

#include "protocol/requester.h"

namespace mrc::protocol
{

// Waits start anew at most once in so many time-outs, or a slow flow that is heard rarely would never time out.
constexpr int forgiveness_spacing = 4;

void requester::forgive(instant now)
{
    if (now - timer_floor_ >= forgiveness_spacing * rto())
        timer_floor_ = now;
}

// Paths fell silent or planes were lost since the last look: what flies there is sent again at once.
void requester::follow_paths(instant now)
{
    const plane_mask usable = paths_.usable();
    const plane_mask gone{usable_planes_.bits() & ~usable.bits()};
    const bool silenced = silence_generation_ != paths_.silence_generation();
    usable_planes_ = usable;
    silence_generation_ = paths_.silence_generation();
    if (gone.empty() && !silenced)
        return;
    for (packet_number number = edge(); number < next_; ++number) {
        const transmission &sent = flight_[number];
        if (sent.fate != packet_fate::inflight)
            continue;
        if ((silenced && paths_.silenced(sent.slot)) || gone.has(paths_.path(sent.slot).lane))
            lose(number, now);
    }
}

void requester::lose(packet_number number, instant now)
{
    transmission &sent = flight_[number];
    timers_.disarm(flight_.index(number));
    if (sent.fate == packet_fate::inflight) {
        --inflight_;
        control_.on_loss(nominal_bytes(payload_of(number)), now);
    }
    sent.fate = packet_fate::lost;
    lost_.insert(number);
}

void requester::blame_loss(const transmission &sent, instant now)
{
    if (sent.order <= blame_floor_)
        return;
    paths_.on_loss(sent.slot, now);
    selector_.on_congestion(sent.slot);
}

void requester::on_timeout(packet_number number, instant now)
{
    transmission &sent = flight_[number];
    if (sent.fate == packet_fate::refused) {
        lose(number, now);
        return;
    }
    ++counters_.timeouts;
    // "Later" must be clearly later: packets of the instant in which everything stopped convict nobody.
    const duration margin = std::max(duration{0}, rto() - rtt_.smoothed()) / 4;
    const path_evidence &evidence = paths_.evidence();
    if (evidence.delivered(sent.slot) > sent.sent_at) {
        blame_loss(sent, now);
        lose(number, now);
    } else if (evidence.delivered_elsewhere(sent.slot, sent.sent_at + margin)) {
        if (sent.order > blame_floor_)
            paths_.on_silence(sent.slot, sent.sent_at, now);
        lose(number, now);
    } else {
        fall_silent(number, now);
        return; // the peer's silence has its own back-off
    }
    sent.count_failure();
}

void requester::fall_silent(packet_number number, instant now)
{
    timers_.arm(flight_.index(number), retry_.level(flight_[number].failures), now);
    ++counters_.silences;
    silence_.begin(now, retry_, rto());
    resend_oldest(now);
    probe_due_ = silence_.probe_due(now, rto());
}

void requester::stay_silent(instant now)
{
    // Another QP of the group hears the peer's host: then this is not silence, and packets time out one by one.
    const unsigned slot = edge() < next_ ? flight_[edge()].slot : 0;
    if (paths_.evidence().delivered_elsewhere(slot, silence_.since())) {
        silence_.end();
        timer_floor_ = now;
        return;
    }
    if (silence_.retry_due(now, retry_, rto()))
        resend_oldest(now);
    probe_due_ = probe_due_ || silence_.probe_due(now, rto());
}

void requester::resend_oldest(instant now)
{
    if (edge() == next_) {
        last_again_due_ = true;
        return;
    }
    const transmission &oldest = flight_[edge()];
    suspect_ = {edge(), oldest.slot, oldest.sent_at};
    if (oldest.fate != packet_fate::lost)
        lose(edge(), now);
}

instant requester::gives_up_at() const
{
    return retry_.gives_up() && waiting() ? progress_at_ + retry_.gives_up_after() : never;
}

void requester::on_timer(instant now)
{
    if (failure_)
        return;
    follow_paths(now);
    if (now >= gives_up_at()) {
        failure_ = completion_status::retry_exceeded;
        return;
    }
    if (silence_.active()) {
        stay_silent(now);
        return;
    }
    // Called much too late: this host was off its CPU, and answers may wait unread.
    const instant due = timers_.next_deadline(rto(), timer_floor_);
    if (due != never && now > due && now - due > rto() / 2)
        forgive(now);
    while (!silence_.active()) {
        const auto index = timers_.expire(rto(), timer_floor_, now);
        if (!index)
            break;
        on_timeout(flight_.number_at(*index, edge()), now);
    }
    follow_paths(now);
    if (!silence_.active() && waiting() && now >= tail_.next_deadline(rtt_, retry_.shortest())) {
        probe_due_ = true;
        last_again_due_ = last_again_due_ || (edge() == next_ && tail_.unanswered() != 0);
        tail_.on_activity(now); // also when no path takes the probe: try again later, not at once
    }
}

instant requester::next_deadline() const
{
    if (failure_)
        return never;
    const instant gives_up = gives_up_at();
    if (silence_.active())
        return std::min(gives_up, silence_.next_deadline());
    instant due = std::min(gives_up, timers_.next_deadline(rto(), timer_floor_));
    if (waiting())
        due = std::min(due, tail_.next_deadline(rtt_, retry_.shortest()));
    return due;
}

} // namespace mrc::protocol
