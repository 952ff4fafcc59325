// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/retransmission.h"

#include <utility>

#include "protocol/send/requester_trace.h"

namespace mrc::protocol
{

bool land(requester_state &sender, transmission &sent)
{
    --sender.flying.packets;
    (sent.charged ? sender.flying.charged_bytes : sender.flying.silent_bytes) -= nominal(sent);
    const bool charged = sent.charged;
    sent.charged = false;
    return charged;
}

void give_up(requester_state &sender, packet_number number)
{
    sender.timers.disarm(sender.packets.index(number));
    sender.packets[number].step(packet_event::give_up);
    sender.lost.insert(number);
}

void lose(requester_state &sender, packet_number number, instant now, loss_of what)
{
    transmission &sent = sender.packets[number];
    const bool congestion = what == loss_of::one || (what == loss_of::path && !sender.config.trim_nack);
    if (sent.fate == packet_fate::inflight && land(sender, sent)) {
        if (congestion)
            sender.control.on_loss(nominal(sent), now);
        else
            sender.control.on_abandoned(nominal(sent));
    }
    give_up(sender, number);
}

void send_when_timer_ends(requester_state &sender, packet_number number, instant now)
{
    transmission &sent = sender.packets[number];
    sent.step(packet_event::refuse);
    sent.count_failure();
    sender.timers.arm(sender.packets.index(number), sender.retry.level(sent.failures), now);
}

void leave_paths(requester_state &sender, instant now)
{
    const path_group &paths = sender.way.paths;
    const plane_mask carrying = sender.way.carrying();
    const plane_mask gone{sender.carrying.bits() & ~carrying.bits()};
    const bool silenced = sender.silence_generation != paths.silence_generation();
    sender.carrying = carrying;
    sender.silence_generation = paths.silence_generation();
    for (packet_number number = sender.edge(); number < sender.next; ++number) {
        const transmission &sent = sender.packets[number];
        if (sent.fate != packet_fate::inflight)
            continue;
        if (gone.has(paths.path(sent.slot).plane)) {
            trace_loss(sender, trace_reason::plane_down, number, now);
            lose(sender, number, now, loss_of::link);
        } else if (silenced && paths.silenced(sent.slot)) {
            trace_loss(sender, trace_reason::path_silent, number, now);
            lose(sender, number, now, loss_of::path);
        }
    }
}

} // namespace mrc::protocol
