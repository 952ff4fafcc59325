// SPDX-License-Identifier: Apache-2.0
// The worker's side of the queues that clients share with it: requests in, completions and events out.
#include <algorithm>
#include <cstring>

#include <sys/epoll.h>

#include "datapath/worker.h"

namespace mrc::datapath
{

using protocol::completion_status;
using protocol::instant;
using protocol::qp_state;

posted_sends::taken posted_sends::take(std::uint32_t position, const session::send_entry &entry)
{
    const std::uint32_t at = slot(position);
    requests_[at] = {.id = entry.id, .flags = entry.flags, .pieces = 0};
    if ((entry.flags & session::send_inline) != 0)
        return {.bytes = entry.first.length, .valid = entry.first.length <= layout_.most_inline};
    if (entry.pieces > layout_.most_pieces)
        return {};
    session::gather_entry *kept = &pieces_[std::size_t{at} * layout_.most_pieces];
    if (entry.pieces != 0)
        kept[0] = entry.first;
    if (entry.pieces > 1)
        std::memcpy(kept + 1, layout_.further_pieces(rings_, at), (entry.pieces - 1) * sizeof(session::gather_entry));
    requests_[at].pieces = entry.pieces;
    std::uint64_t bytes = 0;
    for (const session::gather_entry &piece : pieces_of(at))
        bytes += piece.length;
    return {.bytes = bytes, .valid = true};
}

bool posted_sends::read(std::uint32_t slot, std::uint64_t offset, std::span<std::byte> to, region_view &memory) const
{
    if ((requests_[slot].flags & session::send_inline) != 0) {
        std::memcpy(to.data(), layout_.inline_bytes(rings_, slot) + offset, to.size());
        return true;
    }
    for (const session::gather_entry &piece : pieces_of(slot)) {
        if (offset >= piece.length) {
            offset -= piece.length;
            continue;
        }
        const auto part = std::min<std::uint64_t>(to.size(), piece.length - offset);
        if (!memory.read(piece.lkey, piece.address + offset, to.first(part)))
            return false;
        to = to.subspan(part);
        offset = 0;
        if (to.empty())
            break;
    }
    return to.empty();
}

void worker::add_client(std::unique_ptr<worker_client> client)
{
    clients_.push_back(std::move(client));
}

std::unique_ptr<worker_client> worker::remove_client(const worker_client &client)
{
    std::erase(active_clients_, &client);
    const auto at = std::ranges::find_if(clients_, [&](const auto &one) { return one.get() == &client; });
    if (at == clients_.end())
        return nullptr;
    ::epoll_ctl(doorbells_.get(), EPOLL_CTL_DEL, client.doorbell.get(), nullptr); // the client holds it still
    std::unique_ptr<worker_client> gone = std::move(*at);
    clients_.erase(at);
    return gone;
}

void worker::activate(worker_qp &qp)
{
    if (qp.active)
        return;
    qp.active = true;
    qp.client->active.push_back(&qp);
    if (!qp.client->listed) {
        qp.client->listed = true;
        active_clients_.push_back(qp.client);
    }
}

void worker::deactivate(worker_qp &qp)
{
    if (!qp.active)
        return;
    qp.active = false;
    std::erase(qp.client->active, &qp);
    if (qp.client->active.empty()) {
        qp.client->listed = false;
        qp.client->allowance = 0;
        std::erase(active_clients_, qp.client);
    }
}

// Nothing to take, nothing to send, nothing to wait for.
bool worker::idle(const worker_qp &qp)
{
    return !can_take(qp) && qp.receives.empty() && qp.protocol->outstanding() == 0 && !qp.protocol->has_answer() &&
           qp.protocol->next_deadline() == protocol::never;
}

void worker::answer_bells()
{
    for (const auto &client : clients_)
        client->bells().answer([&](std::uint32_t bell) {
            if (bell < client->by_bell.size() && client->by_bell[bell] != nullptr)
                activate(*client->by_bell[bell]);
        });
}

// After an error the older requests are completed first.
bool worker::can_take(const worker_qp &qp)
{
    const qp_state state = qp.protocol->state();
    const bool takes = state == qp_state::ready_to_send || state == qp_state::send_queue_drained ||
                       (state == qp_state::error && qp.protocol->outstanding() == 0);
    return takes && !qp.sends.empty() && qp.protocol->outstanding() < qp.sends.capacity();
}

// At most a burst of each QP, so that no client keeps the others waiting.
std::size_t worker::take_requests(instant now)
{
    answer_bells();
    std::size_t count = 0;
    for_each_active([&](worker_qp &qp) {
        count += take_receives(qp);
        session::send_entry entry;
        for (std::uint32_t n = 0; n < options_.burst && can_take(qp); ++n, ++count) {
            const std::uint32_t position = qp.sends.position();
            if (!qp.sends.pop(entry))
                break;
            take_send(qp, position, entry, now);
        }
    });
    return count;
}

void worker::take_send(worker_qp &qp, std::uint32_t position, const session::send_entry &entry, instant now)
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

// All that fit. Of a failed queue pair any number would: a client could post faster than they are flushed. What was
// posted before it failed completes first.
std::size_t worker::take_receives(worker_qp &qp) const
{
    const bool failed = qp.protocol->state() == qp_state::error;
    if (failed && qp.protocol->outstanding_receives() != 0)
        return 0;
    const std::uint32_t most = failed ? options_.burst : qp.receives.capacity();
    std::size_t count = 0;
    session::receive_entry entry;
    while (count < most && qp.protocol->outstanding_receives() < qp.receives.capacity() && qp.receives.pop(entry)) {
        ++count;
        if (!qp.protocol->post_receive(entry.id)) // failed
            complete_receive(qp, {.id = entry.id, .status = completion_status::flushed});
    }
    return count;
}

void worker::complete_send(worker_qp &qp, const protocol::completion &done)
{
    const auto position = static_cast<std::uint32_t>(done.id);
    qp.send_completions->push(
        {.id = qp.posted->id(position),
         .bytes = static_cast<std::uint32_t>(done.bytes),
         .qpn = qp.number.value,
         .position = position,
         .status = static_cast<std::uint8_t>(done.status),
         .flags = static_cast<std::uint8_t>(qp.posted->immediate(position) ? session::completion_immediate : 0),
         .life = qp.life});
}

void worker::complete_receive(worker_qp &qp, const protocol::receive_completion &done)
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
         .life = qp.life});
}

void worker::deliver_completions(worker_qp &qp)
{
    while (const auto done = qp.protocol->next_completion())
        complete_send(qp, *done);
    while (const auto done = qp.protocol->next_receive_completion())
        complete_receive(qp, *done);
    if (qp.send_completions->overrun() || qp.receive_completions->overrun())
        qp.protocol->fail(completion_status::flushed);
    tell_of_state(qp);
}

// As verbs: what the peer did wrong is an event, what this end's requests met is a completion.
void worker::tell_of_state(worker_qp &qp)
{
    if (const auto failure = qp.protocol->receive_failure(); failure && !qp.failure_told) {
        qp.failure_told = true;
        const session::event_kind kind = *failure == MRC_AETH_NAK_REMOTE_ACCESS ? session::event_kind::qp_access_error
                                         : *failure == MRC_AETH_NAK_INVALID_REQUEST
                                             ? session::event_kind::qp_request_error
                                             : session::event_kind::qp_fatal;
        qp.events->tell({kind, qp.number.value});
    }
    const bool drained = qp.protocol->drained();
    if (drained && !qp.drain_told)
        qp.events->tell({session::event_kind::qp_drained, qp.number.value});
    qp.drain_told = drained;
}

// Completions go out, and who has nothing to do leaves the list.
void worker::settle()
{
    for_each_active([&](worker_qp &qp) { deliver_completions(qp); });
    for (std::size_t c = active_clients_.size(); c-- > 0;) {
        worker_client &client = *active_clients_[c];
        for (std::size_t q = client.active.size(); q-- > 0;) {
            worker_qp &qp = *client.active[q];
            if (!idle(qp))
                continue;
            report_qp(qp);
            deactivate(qp);
        }
    }
}

} // namespace mrc::datapath
