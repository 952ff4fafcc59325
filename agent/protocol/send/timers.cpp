// SPDX-License-Identifier: Apache-2.0
// Requester, waiting: time-outs, silence, probes, and what the state of paths means for packets in flight.
#include <algorithm>
#include <utility>

#include "protocol/send/requester_state.h"

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
void requester::leave_paths(instant now)
{
    // A port that merely drains has not lost what it sent.
    const plane_mask reachable = paths_.local().up & peer_reach();
    const plane_mask gone{reachable_.bits() & ~reachable.bits()};
    const bool silenced = silence_generation_ != paths_.silence_generation();
    reachable_ = reachable;
    silence_generation_ = paths_.silence_generation();
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
        if (land(sent))
            control_.on_loss(nominal(sent), now);
    }
    sent.fate = packet_fate::lost;
    lost_.insert(number);
}

void requester::blame_loss(const transmission &sent, instant now)
{
    if (sent.order <= blame_floor_)
        return;
    if (!blame_plane(sent.slot, sent.sent_at, now))
        paths_.on_loss(sent.slot, now);
    selector_.on_feedback(sent.slot, path_feedback::lost);
}

void requester::blame_age(const transmission &sent, instant now)
{
    if (sent.order > blame_floor_)
        blame_missing(sent.slot, sent.sent_at, now);
}

void requester::blame_silence(const transmission &sent, instant now)
{
    if (sent.order > blame_floor_ && !blame_plane(sent.slot, sent.sent_at, now))
        paths_.on_silence(sent.slot, sent.sent_at, now, skew_.tolerance());
}

// The path may deliver still, or nothing any more; a single loss cannot tell. The group judges.
void requester::blame_missing(std::uint16_t slot, instant sent_at, instant now)
{
    if (!blame_plane(slot, sent_at, now))
        paths_.on_unanswered(slot, sent_at, now, skew_.tolerance());
    selector_.on_feedback(slot, path_feedback::lost);
}

// Nothing of the plane reaches the peer any more, but other hosts behind its T0 hear on it: no path is to blame, but
// the link from the leaf to this host.
bool requester::blame_plane(std::uint16_t slot, instant sent_at, instant now)
{
    const plane lane = paths_.path(slot).lane;
    if (peer_.suspected().has(lane))
        return true;
    return suspects_planes_ && peer_.on_missing(lane, sent_at, skew_.tolerance()) &&
           paths_.plane_delivers(lane, sent_at) && peer_.suspect(lane, usable(), now);
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
    if (reached_ < sent.sent_at + clearly()) {
        fall_silent(number, now);
        return; // the peer's silence has its own back-off
    }
    if (paths_.evidence().delivered(sent.slot) > sent.sent_at)
        blame_loss(sent, now);
    else
        blame_silence(sent, now);
    lose(number, now);
    sent.count_failure();
}

void requester::fall_silent(packet_number number, instant now)
{
    timers_.arm(flight_.index(number), retry_.level(flight_[number].failures), now);
    ++counters_.silences;
    silence_.begin(now, retry_, rto());
    discharge();
    resend_oldest(now);
    probe_due_ = silence_.probe_due(now, rto());
}

// Nobody knows whether what is in flight will ever be answered: other QPs may have the window meanwhile.
void requester::discharge()
{
    for (packet_number number = edge(); number < next_; ++number)
        flight_[number].charged = false;
    control_.on_abandoned(static_cast<std::uint32_t>(charged_bytes_));
    silent_bytes_ += std::exchange(charged_bytes_, 0);
}

void requester::stay_silent(instant now)
{
    if (silence_.retry_due(now, retry_, rto()))
        resend_oldest(now);
    // Asked even while a probe waits for a usable plane: the deadline must move on.
    probe_due_ = silence_.probe_due(now, rto()) || probe_due_;
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
    if (due != never && now > due && now - due > rto() / 2) {
        forgive(now);
        blame_floor_ = order_;
    }
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
