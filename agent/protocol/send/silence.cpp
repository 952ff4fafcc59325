// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/silence.h"

#include <utility>

#include "protocol/send/requester_trace.h"
#include "protocol/send/retransmission.h"
#include "protocol/send/timers.h"

namespace mrc::protocol
{

namespace
{

// Nobody knows whether what is in flight will ever be answered: other QPs may have the window meanwhile.
void discharge(requester_state &sender)
{
    for (packet_number number = sender.edge(); number < sender.next; ++number)
        sender.packets[number].charged = false;
    sender.control.on_abandoned(static_cast<std::uint32_t>(sender.flying.charged_bytes));
    sender.flying.silent_bytes += std::exchange(sender.flying.charged_bytes, 0);
}

void ask(requester_state &sender, instant now)
{
    if (!sender.silence.probe_due(now, sender.retry, sender.rto()))
        return; // also while one waits for a usable plane
    trace_timer(sender, trace_reason::silence, now);
    sender.way.peer.on_silence(now);
    sender.due.probe = true;
}

void resend_oldest(requester_state &sender, instant now)
{
    if (sender.edge() == sender.next) {
        sender.due.last_again = true;
        return;
    }
    if (sender.packets[sender.edge()].fate == packet_fate::lost)
        return;
    trace_loss(sender, trace_reason::oldest, sender.edge(), now);
    lose(sender, sender.edge(), now);
}

} // namespace

void forgive_waits(requester_state &sender, instant now)
{
    if (now - sender.timer_floor >= packet_timers::floor_spacing * sender.rto())
        sender.timer_floor = now;
}

void fall_silent(requester_state &sender, packet_number number, instant now)
{
    sender.timers.arm(sender.packets.index(number), sender.retry.level(sender.packets[number].failures), now);
    ++sender.counters.silences;
    sender.silence.begin(now, sender.rto());
    discharge(sender);
    ask(sender, now);
}

void stay_silent(requester_state &sender, instant now)
{
    if (sender.silence.retry_due(now, sender.rto()))
        resend_oldest(sender, now);
    ask(sender, now);
}

void on_heard(requester_state &sender, instant now)
{
    look(sender, now);
    if (sender.silence.active()) {
        trace_timer(sender, trace_reason::heard, now);
        sender.silence.end();
        sender.timer_floor = now;
        sender.blame_floor = sender.order;
    } else if (sender.flying.packets != 0 && now - sender.heard_at > sender.rto() / 2) {
        forgive_waits(sender, now);
    }
    sender.heard_at = now;
    sender.way.peer.on_heard();
    sender.tail.on_heard(now);
}

} // namespace mrc::protocol
