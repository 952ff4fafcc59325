// SPDX-License-Identifier: Apache-2.0
// Trace events of packets that answer others: of the end that sends them and of the end that gets them, with the same
// values, so that the two can be found to be one packet.
#pragma once

#include <variant>

#include "protocol/packet.h"
#include "protocol/trace_event.h"

namespace mrc::protocol
{

// Whose event it is, and when.
struct traced_end {
    qpn local;
    qpn peer;
    instant at;
};

[[nodiscard]] inline trace_event event_of(trace_kind kind, trace_reason reason, const sack_packet &sack,
                                          const traced_end &end)
{
    return {kind, reason, end.at, end.local, end.peer, sack.cack, sack.entropy, sack.bitmap};
}

[[nodiscard]] inline trace_event event_of(trace_kind kind, trace_reason reason, const nack_packet &nack,
                                          const traced_end &end)
{
    return {kind, reason, end.at, end.local, end.peer, nack.sequence, nack.entropy, nack.reason};
}

[[nodiscard]] inline trace_event event_of(trace_kind kind, trace_reason reason, const transport_ack_packet &ack,
                                          const traced_end &end)
{
    return {kind, reason, end.at, end.local, end.peer, ack.sequence, {}, ack.msn};
}

[[nodiscard]] inline trace_reason reason_of(const transport_ack_packet &ack)
{
    return (ack.syndrome & MRC_AETH_TYPE_MASK) == MRC_AETH_TYPE_NAK ? trace_reason::nak : trace_reason::ack;
}

// Of the end that answers.
[[nodiscard]] inline trace_event answer_event(const packet &answer, const traced_end &end)
{
    if (const auto *sack = std::get_if<sack_packet>(&answer))
        return event_of(trace_kind::answer, trace_reason::sack, *sack, end);
    if (const auto *nack = std::get_if<nack_packet>(&answer))
        return event_of(trace_kind::answer, trace_reason::nack, *nack, end);
    if (const auto *ack = std::get_if<transport_ack_packet>(&answer))
        return event_of(trace_kind::answer, reason_of(*ack), *ack, end);
    return {.kind = trace_kind::answer, .at = end.at, .local = end.local, .peer = end.peer};
}

} // namespace mrc::protocol
