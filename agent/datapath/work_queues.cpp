// SPDX-License-Identifier: Apache-2.0
#include "datapath/work_queues.h"

#include <algorithm>
#include <cstdint>

namespace mrc::datapath
{

using protocol::completion_status;
using protocol::instant;
using protocol::qp_state;

namespace
{

bool can_take_sends(const worker_qp &qp)
{
    const qp_state state = qp.protocol->state();
    const bool takes = state == qp_state::ready_to_send || state == qp_state::send_queue_drained ||
                       (state == qp_state::error && qp.protocol->outstanding() == 0); // the older complete first
    return takes && !qp.sends.empty() && qp.protocol->outstanding() < qp.sends.capacity();
}

// Where the request will be kept; without memory it stays in its ring.
bool has_room(worker_qp &qp)
{
    return qp.protocol->can_post() && qp.posted->make_room(qp.sends.position(), qp.protocol->outstanding());
}

bool can_flush_receives(const worker_qp &qp)
{
    return qp.protocol->state() == qp_state::error && qp.protocol->outstanding_receives() == 0 && !qp.receives.empty();
}

void complete_send(worker_qp &qp, const protocol::completion &done)
{
    const auto position = static_cast<std::uint32_t>(done.id);
    qp.send_completions->push(
        {.id = qp.posted->id(position),
         .bytes = static_cast<std::uint32_t>(done.bytes),
         .qpn = qp.number.value,
         .position = position,
         .status = static_cast<std::uint8_t>(done.status),
         .flags = static_cast<std::uint8_t>(qp.posted->immediate(position) ? session::completion_immediate : 0),
         .resets = qp.resets});
}

void complete_receive(worker_qp &qp, const protocol::receive_completion &done)
{
    qp.receive_completions->push(
        {.id = done.id,
         .bytes = done.bytes,
         .immediate = done.immediate,
         .qpn = qp.number.value,
         .position = qp.received++,
         .status = static_cast<std::uint8_t>(done.status),
         .flags = static_cast<std::uint8_t>(session::completion_receive | session::completion_immediate |
                                            (done.solicited ? session::completion_solicited : 0)),
         .resets = qp.resets});
}

void take_send(worker_qp &qp, std::uint32_t position, const session::send_entry &entry, instant now)
{
    const posted_sends::taken taken = qp.posted->take(position, entry);
    // The piece of memory is looked up by slot when a packet is built: posted_sends::read.
    protocol::write_request request{
        .id = position,
        .source = {.lkey = qp.sends.slot(position),
                   .address = 0,
                   .bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(taken.bytes, UINT32_MAX))},
        .remote_va = entry.remote_address,
        .rkey = entry.rkey,
        .solicited = (entry.flags & session::send_solicited) != 0,
        .signaled = (entry.flags & session::send_signaled) != 0};
    if ((entry.flags & session::send_immediate) != 0)
        request.immediate = entry.immediate;
    if (taken.valid && qp.protocol->post_write(request, now))
        return;
    if (qp.protocol->state() == qp_state::error) { // nothing is before it in the queue any more
        complete_send(qp, {.id = position, .status = completion_status::flushed});
        return;
    }
    // What the client's library would have refused. An empty message keeps its place among the completions.
    (void)qp.protocol->post_write({.id = position, .source = {.lkey = qp.sends.slot(position)}}, now);
    qp.protocol->fail(completion_status::local_protection_error);
}

// As verbs: what the peer did wrong is an event, what this end's requests met is a completion.
void report_state(worker_qp &qp)
{
    if (const auto failure = qp.protocol->receive_failure(); failure && !qp.failure_reported) {
        qp.failure_reported = true;
        const session::event_kind kind = *failure == MRC_AETH_NAK_REMOTE_ACCESS ? session::event_kind::qp_access_error
                                         : *failure == MRC_AETH_NAK_INVALID_REQUEST
                                             ? session::event_kind::qp_request_error
                                             : session::event_kind::qp_fatal;
        qp.events->notify({kind, qp.number.value});
    }
    const bool drained = qp.protocol->drained();
    if (drained && !qp.drain_reported)
        qp.events->notify({session::event_kind::qp_drained, qp.number.value});
    qp.drain_reported = drained;
}

} // namespace

bool has_requests(const worker_qp &qp)
{
    return can_take_sends(qp) || can_flush_receives(qp);
}

bool only_waits(const worker_qp &qp)
{
    return !has_requests(qp) && qp.protocol->only_waits();
}

std::optional<protocol::window_wish> waits_for_window(worker_qp &qp)
{
    return has_requests(qp) ? std::nullopt : qp.protocol->waits_for_window();
}

bool is_idle(const worker_qp &qp)
{
    return only_waits(qp) && qp.protocol->outstanding() == 0 && qp.protocol->next_deadline() == protocol::never;
}

std::size_t take_requests(worker_qp &qp, std::size_t most, instant now)
{
    std::size_t count = 0;
    session::send_entry send;
    while (count < most && can_take_sends(qp) && has_room(qp)) {
        const std::uint32_t position = qp.sends.position();
        if (!qp.sends.pop(send))
            break;
        take_send(qp, position, send, now);
        ++count;
    }
    session::receive_entry receive;
    for (; count < most && can_flush_receives(qp) && qp.receives.pop(receive); ++count)
        complete_receive(qp, {.id = receive.id, .status = completion_status::flushed});
    return count;
}

std::size_t take_receives_for_packet(worker_qp &qp)
{
    std::size_t count = 0;
    session::receive_entry entry;
    for (std::size_t wanted = qp.protocol->receives_wanted(); count < wanted && qp.receives.pop(entry); ++count)
        if (!qp.protocol->post_receive(entry.id))
            break;
    return count;
}

std::size_t deliver_completions(worker_qp &qp, std::size_t most)
{
    std::size_t count = 0;
    for (; count < most; ++count) {
        const auto done = qp.protocol->next_completion();
        if (!done)
            break;
        complete_send(qp, *done);
    }
    for (; count < most; ++count) {
        const auto done = qp.protocol->next_receive_completion();
        if (!done)
            break;
        complete_receive(qp, *done);
    }
    if (qp.send_completions->overrun() || qp.receive_completions->overrun())
        qp.protocol->fail(completion_status::flushed);
    report_state(qp);
    return count;
}

} // namespace mrc::datapath
