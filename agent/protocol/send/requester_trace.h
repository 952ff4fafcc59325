// SPDX-License-Identifier: Apache-2.0
// What the requester tells whoever traces it (trace_event.h).
#pragma once

#include "protocol/packet.h"
#include "protocol/send/requester_state.h"
#include "protocol/trace_packets.h"

namespace mrc::protocol
{

// Of no packet.
inline void trace_timer(const requester_state &sender, trace_reason why, instant now)
{
    trace(sender.trace,
          [&] { return trace_event{trace_kind::timer, why, now, sender.config.local, sender.config.peer, {}, {}, 0}; });
}

// Of the packet's latest transmission, and for how long it has been under way.
inline void trace_packet(const requester_state &sender, trace_kind kind, trace_reason why, packet_number number,
                         instant now)
{
    trace(sender.trace, [&] {
        const transmission &sent = sender.packets[number];
        return trace_event{kind,
                           why,
                           now,
                           sender.config.local,
                           sender.config.peer,
                           sender.space.at(number),
                           sender.way.paths.path(sent.slot).entropy,
                           static_cast<std::uint64_t>((now - sent.sent_at).count())};
    });
}

inline void trace_loss(const requester_state &sender, trace_reason why, packet_number number, instant now)
{
    trace_packet(sender, trace_kind::loss, why, number, now);
}

inline void trace_sent(const requester_state &sender, trace_reason why, const data_packet &data, ev entropy,
                       instant now)
{
    trace(sender.trace, [&] {
        return trace_event{trace_kind::send,   why,           now,     sender.config.local,
                           sender.config.peer, data.sequence, entropy, data.payload_bytes};
    });
}

// SACK, NACK or Transport ACK of the peer.
template <typename Answer>
inline void trace_answer(const requester_state &sender, trace_kind kind, trace_reason what, const Answer &answer,
                         const arrival &how)
{
    trace(sender.trace, [&] {
        return event_of(kind, what, answer, {.local = sender.config.local, .peer = sender.config.peer, .at = how.at});
    });
}

} // namespace mrc::protocol
