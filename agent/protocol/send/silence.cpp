// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/silence.h"

#include <utility>

#include "protocol/send/path_blame.h"
#include "protocol/send/retransmission.h"

namespace mrc::protocol
{

namespace
{

constexpr int forgiveness_spacing = 4; // time-outs

// Nobody knows whether what is in flight will ever be answered: other QPs may have the window meanwhile.
void discharge(requester_state &sender)
{
    for (packet_number number = sender.edge(); number < sender.next; ++number)
        sender.packets[number].charged = false;
    sender.control.on_abandoned(static_cast<std::uint32_t>(sender.flying.charged_bytes));
    sender.flying.silent_bytes += std::exchange(sender.flying.charged_bytes, 0);
}

void resend_oldest(requester_state &sender, instant now)
{
    if (sender.edge() == sender.next) {
        sender.due.last_again = true;
        return;
    }
    const transmission &oldest = sender.packets[sender.edge()];
    sender.suspect = {sender.edge(), oldest.slot, oldest.sent_at};
    if (oldest.fate != packet_fate::lost)
        lose(sender, sender.edge(), now);
}

} // namespace

void forgive_waits(requester_state &sender, instant now)
{
    if (now - sender.timer_floor >= forgiveness_spacing * sender.rto())
        sender.timer_floor = now;
}

void fall_silent(requester_state &sender, packet_number number, instant now)
{
    sender.timers.arm(sender.packets.index(number), sender.retry.level(sender.packets[number].failures), now);
    ++sender.counters.silences;
    sender.silence.begin(now, sender.retry, sender.rto());
    sender.way.peer.on_silence(now);
    discharge(sender);
    resend_oldest(sender, now);
    sender.due.probe = sender.silence.probe_due(now, sender.rto());
}

void stay_silent(requester_state &sender, instant now)
{
    if (sender.silence.retry_due(now, sender.retry, sender.rto())) {
        sender.way.peer.on_silence(now);
        resend_oldest(sender, now);
    }
    // Asked even while a probe waits for a usable plane: the deadline must move on.
    sender.due.probe = sender.silence.probe_due(now, sender.rto()) || sender.due.probe;
}

void on_heard(requester_state &sender, instant now)
{
    if (sender.silence.active()) {
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

// On another path than before, at the first attempt and at once: so the peer had been there, and it is the former path
// that swallowed the packet. A copy that waited says that the peer had been away.
void on_suspect_cleared(requester_state &sender, std::uint16_t slot, instant now)
{
    const auto &suspect = sender.suspect;
    const duration took = now - sender.packets[suspect.number].sent_at;
    const bool at_once = took <= sender.rtt.smoothed() + sender.reordering_margin();
    if (at_once && sender.silence.attempts() == 1 && slot != suspect.slot)
        blame_missing(sender, suspect.slot, suspect.sent_at, now);
    sender.suspect.number = -1;
}

} // namespace mrc::protocol
