// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/qp_states.h"

#include <cerrno>
#include <string>

#include "kernel/map_names.h"
#include "service/sessions/held_profiles.h"
#include "service/sessions/qp_attributes.h"
#include "service/sessions/qp_connection.h"
#include "service/sessions/queue_pairs.h"

namespace mrc::service
{

using protocol::qp_state;

namespace
{

protocol::qp_event event_to(qp_state to)
{
    switch (to) {
    case qp_state::reset:
        return protocol::qp_event::reset;
    case qp_state::init:
        return protocol::qp_event::to_init;
    case qp_state::ready_to_receive:
        return protocol::qp_event::to_ready_to_receive;
    case qp_state::ready_to_send:
        return protocol::qp_event::to_ready_to_send;
    case qp_state::send_queue_drained:
        return protocol::qp_event::drain;
    case qp_state::error:
        break;
    }
    return protocol::qp_event::fail;
}

std::string name_of(qp_state state)
{
    return std::string{kernel::qp_state_names[static_cast<std::size_t>(state)]};
}

struct qp_phase {
    qp_state state = qp_state::reset;
    bool draining = false; // in SQD, and requests that had begun are under way
};

qp_phase phase_of(const session_state &state, const owned_qp &qp)
{
    qp_phase phase{.state = static_cast<qp_state>(qp.now.state)};
    if (qp.in_worker)
        state.worker().call([&] {
            const protocol::queue_pair &here = *state.worker().find_qp(protocol::qpn{qp.numbers.qpn})->protocol;
            phase.state = here.state();
            phase.draining = phase.state == qp_state::send_queue_drained && !here.drained();
        });
    return phase;
}

// With new rings: nothing that was posted, or is on its way to the worker, survives.
void reset(session_state &state, owned_qp &qp)
{
    if (qp.in_worker)
        disconnect_qp(state, qp);
    const session::queue_pair_layout layout = layout_of(qp.numbers);
    layout.sends(qp.rings.get()).restart(true);
    layout.receives(qp.rings.get()).restart(true);
    qp.sends_flushed = 0;
    qp.receives_flushed = 0;
    release_profiles(state.shared.control, qp.now);
    ++qp.resets;
    qp.now = initial_attributes(qp.numbers.qpn, state.shared.config.transport.window_psns, state.shared.config.peers);
    qp.known = 0;
}

// Both sides know where the other is; what this one has read before is counted in owned_qp.
void flush_unconnected(session_state &state, owned_qp &qp)
{
    const session::queue_pair_layout layout = layout_of(qp.numbers);
    const auto flushed = [&](std::uint64_t id, std::uint32_t position, std::uint8_t flags) {
        return session::completion_entry{.id = id,
                                         .qpn = qp.numbers.qpn,
                                         .position = position,
                                         .status = static_cast<std::uint8_t>(protocol::completion_status::flushed),
                                         .flags = flags,
                                         .resets = qp.resets};
    };
    const auto flush = [&](auto ring, auto entry, std::uint32_t &done, std::uint32_t cq, std::uint8_t flags) {
        ring.resume(done);
        for (std::uint32_t n = 0; n < ring.capacity() && ring.pop(entry); ++n)
            state.cqs.at(cq).ring->push(flushed(entry.id, done++, flags));
    };
    state.worker().call([&] {
        flush(layout.sends(qp.rings.get()), session::send_entry{}, qp.sends_flushed, qp.made.send_cq, 0);
        flush(layout.receives(qp.rings.get()), session::receive_entry{}, qp.receives_flushed, qp.made.receive_cq,
              session::completion_receive);
    });
}

void fail(session_state &state, owned_qp &qp)
{
    if (!qp.in_worker) { // the worker never sees what is posted: the client asks for ERROR again after posting
        flush_unconnected(state, qp);
        return;
    }
    state.worker().call([&] {
        datapath::worker_qp &here = *state.worker().find_qp(protocol::qpn{qp.numbers.qpn});
        here.protocol->fail(protocol::completion_status::flushed);
        state.worker().activate(here);
    });
}

answer move(session_state &state, owned_qp &qp, qp_state from, qp_state to)
{
    const protocol::qpn number{qp.numbers.qpn};
    bool moved = true;
    switch (to) {
    case qp_state::reset:
        reset(state, qp);
        return {};
    case qp_state::init:
        break;
    case qp_state::ready_to_receive:
        return connect_qp(state, qp);
    case qp_state::ready_to_send:
        if (from == qp_state::ready_to_receive)
            return start_sending(state, qp);
        [[fallthrough]];
    case qp_state::send_queue_drained:
        state.worker().call([&] {
            datapath::worker_qp &here = *state.worker().find_qp(number);
            moved = here.protocol->modify(event_to(to));
            state.worker().activate(here); // what it waits for may be another thing now
        });
        break;
    case qp_state::error:
        fail(state, qp);
        break;
    }
    if (!moved) // the peer's packets have made it fail since
        return refuse(EINVAL, "the queue pair has failed");
    qp.now.state = static_cast<std::uint8_t>(to);
    return {};
}

} // namespace

answer modify_qp(session_state &state, const session::qp_attributes &wanted)
{
    const auto at = state.qps.find(wanted.qpn);
    if (at == state.qps.end())
        return refuse(EINVAL, "no such queue pair in this session");
    owned_qp &qp = at->second;
    const qp_state from = phase_of(state, qp).state;
    const qp_state to = (wanted.mask & session::qp_sets_state) != 0 ? static_cast<qp_state>(wanted.state) : from;
    if (const std::string problem =
            why_refused(wanted, qp.now, from,
                        {.window_psns = state.shared.config.transport.window_psns, .connected = qp.in_worker});
        !problem.empty())
        return refuse(EINVAL, problem);
    if ((wanted.mask & session::qp_asserts_state) != 0 && wanted.current_state != static_cast<std::uint8_t>(from))
        return refuse(EINVAL, "the queue pair is in state " + name_of(from));
    const bool moves = (wanted.mask & session::qp_sets_state) != 0;
    if (moves && !protocol::next_state(from, event_to(to)))
        return refuse(EINVAL, "no way from " + name_of(from) + " to " + name_of(to));

    if (const auto held = hold_profiles(state.shared.control, wanted); !held)
        return refuse(EINVAL, held.error().text);
    const session::qp_attributes before = qp.now;
    const std::uint32_t known_before = qp.known;
    adopt(qp.now, wanted);
    qp.known |= wanted.mask;
    if ((wanted.mask & session::qp_sets_hint) != 0 && qp.in_worker)
        take_hint(state, qp);
    answer done = moves ? move(state, qp, from, to) : answer{};
    const bool refused = done.reply.error != 0;
    release_profiles(state.shared.control, refused ? wanted : before, wanted.mask);
    if (!refused)
        return query_qp(state, wanted.qpn);
    qp.now = before; // nothing of a refused change stays
    qp.known = known_before;
    return done;
}

answer query_qp(session_state &state, std::uint32_t qpn)
{
    const auto at = state.qps.find(qpn);
    if (at == state.qps.end())
        return refuse(EINVAL, "no such queue pair in this session");
    answer result;
    result.reply.attributes = at->second.now;
    const qp_phase phase = phase_of(state, at->second);
    result.reply.attributes.state = static_cast<std::uint8_t>(phase.state);
    result.reply.attributes.draining = static_cast<std::uint8_t>(phase.draining);
    result.reply.attributes.mask = 0;
    return result;
}

} // namespace mrc::service
