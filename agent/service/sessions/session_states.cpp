// SPDX-License-Identifier: Apache-2.0
// The states of a client's queue pairs. Until RTR a queue pair is only what is known of it, here; from then on the
// worker has it.
//
// to     needs                                 does
// INIT   -                                     keeps the attributes
// RTR    peer and receive_psn known            builds the queue pair and hands it to the worker: packets come in
// RTS    send_psn known (from RTR)             requests are taken
// SQD    -                                     no request begins
// ERROR  -                                     flushes both queues
// RESET  -                                     takes it from the worker, empties the rings

#include <cstring>

#include "service/sessions/client_session.h"

namespace mrc::service
{

namespace
{

using protocol::qp_state;

constexpr std::uint16_t default_immediates = 128;
constexpr std::uint32_t least_mtu = 256;
constexpr std::uint32_t usable_timeout = 24;
constexpr std::uint32_t usable_linear = 7;
constexpr std::uint32_t usable_exponential = 25;

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

const char *name_of(qp_state state)
{
    static constexpr const char *names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "ERROR"};
    return names[static_cast<std::size_t>(state)];
}

protocol::send_terms terms_of(const session::qp_attributes &now)
{
    return {.first = protocol::psn{now.send_psn},
            .window_psns = now.mpr * std::uint32_t{MRC_MPR_UNIT},
            .max_wimm = now.max_wimm,
            .retry = {.timeout_exponent = now.timeout, .linear = now.linear, .exponential = now.exponential}};
}

} // namespace

session::qp_attributes initial_attributes(std::uint32_t qpn, std::uint32_t window_psns)
{
    session::qp_attributes fresh{};
    fresh.qpn = qpn;
    fresh.mpr = static_cast<std::uint8_t>(window_psns / MRC_MPR_UNIT);
    fresh.mpr_dest = fresh.mpr;
    fresh.timeout = 8;
    fresh.linear = usable_linear;
    fresh.exponential = usable_exponential; // a peer that starts slowly kills no queue pair
    fresh.max_wimm = default_immediates;
    fresh.max_wimm_dest = default_immediates;
    return fresh;
}

client_session::qp_phase client_session::phase_of(const owned_qp &qp)
{
    qp_phase phase{.state = static_cast<qp_state>(qp.now.state)};
    if (qp.in_worker)
        shared_.worker.call([&] {
            const protocol::queue_pair &here = *shared_.worker.find_qp(protocol::qpn{qp.numbers.qpn})->protocol;
            phase.state = here.state();
            phase.draining = phase.state == qp_state::send_queue_drained && !here.drained();
        });
    return phase;
}

std::string client_session::refusal_of(const owned_qp &qp, qp_state from, const session::qp_attributes &wanted) const
{
    const auto sets = [&](std::uint32_t what) { return (wanted.mask & what) != 0; };
    const std::uint32_t window = shared_.config.transport.window_psns / MRC_MPR_UNIT;
    if (sets(session::qp_sets_state) && wanted.state > static_cast<std::uint8_t>(qp_state::error))
        return "no such state";
    if ((sets(session::qp_sets_mpr) && (wanted.mpr == 0 || wanted.mpr > window)) ||
        (sets(session::qp_sets_mpr_dest) && (wanted.mpr_dest == 0 || wanted.mpr_dest > window)))
        return "mpr and mpr_dest are 1 to " + std::to_string(window) + ", in units of 128 PSNs";
    if ((sets(session::qp_sets_max_wimm) && wanted.max_wimm > most_immediates) ||
        (sets(session::qp_sets_max_wimm_dest) && wanted.max_wimm_dest > most_immediates))
        return "max_wimm and max_wimm_dest are 0 to " + std::to_string(most_immediates);
    if (sets(session::qp_sets_timeout) && wanted.timeout > usable_timeout)
        return "timeout is 0 to 24";
    if (sets(session::qp_sets_retries) && (wanted.linear > usable_linear || wanted.exponential > usable_exponential))
        return "linear retries are 0 to 7, exponential ones 0 to 25";
    if ((sets(session::qp_sets_receive_psn) && wanted.receive_psn > MRC_PSN_MASK) ||
        (sets(session::qp_sets_send_psn) && wanted.send_psn > MRC_PSN_MASK))
        return "a PSN has 24 bits";
    if (sets(session::qp_sets_peer) && (wanted.peer_qpn < MRC_QPN_FIRST_USABLE || wanted.peer_qpn >= MRC_QPN_MASK))
        return "peer's queue pair number is out of range";
    if (sets(session::qp_sets_mtu) && wanted.payload_bytes < least_mtu)
        return "the path MTU is at least 256";
    if (!qp.in_worker || (sets(session::qp_sets_state) && wanted.state == static_cast<std::uint8_t>(qp_state::reset)))
        return {};
    const auto changes = [&](std::uint32_t what, auto... fields) {
        return sets(what) && ((std::memcmp(&(wanted.*fields), &(qp.now.*fields), sizeof(wanted.*fields)) != 0) || ...);
    };
    using at = session::qp_attributes;
    if (changes(session::qp_sets_access, &at::access) || changes(session::qp_sets_peer, &at::peer, &at::peer_qpn) ||
        changes(session::qp_sets_receive_psn, &at::receive_psn) || changes(session::qp_sets_mtu, &at::payload_bytes) ||
        changes(session::qp_sets_mpr_dest, &at::mpr_dest) ||
        changes(session::qp_sets_max_wimm_dest, &at::max_wimm_dest) ||
        changes(session::qp_sets_ev_profile, &at::ev_profile) || changes(session::qp_sets_cc_profile, &at::cc_profile))
        return "what concerns the peer and the profiles of a queue pair cannot be changed after RTR";
    if (from != qp_state::ready_to_receive &&
        (changes(session::qp_sets_send_psn, &at::send_psn) || changes(session::qp_sets_mpr, &at::mpr) ||
         changes(session::qp_sets_max_wimm, &at::max_wimm) || changes(session::qp_sets_timeout, &at::timeout) ||
         changes(session::qp_sets_retries, &at::linear, &at::exponential)))
        return "how a queue pair sends cannot be changed after RTS";
    return {};
}

void client_session::adopt(owned_qp &qp, const session::qp_attributes &wanted)
{
    session::qp_attributes &now = qp.now;
    const auto take = [&](std::uint32_t what, auto session::qp_attributes::*field) {
        if ((wanted.mask & what) != 0)
            now.*field = wanted.*field;
    };
    take(session::qp_sets_access, &session::qp_attributes::access);
    take(session::qp_sets_peer, &session::qp_attributes::peer);
    take(session::qp_sets_peer, &session::qp_attributes::peer_qpn);
    take(session::qp_sets_receive_psn, &session::qp_attributes::receive_psn);
    take(session::qp_sets_send_psn, &session::qp_attributes::send_psn);
    take(session::qp_sets_mtu, &session::qp_attributes::payload_bytes);
    take(session::qp_sets_mpr, &session::qp_attributes::mpr);
    take(session::qp_sets_mpr_dest, &session::qp_attributes::mpr_dest);
    take(session::qp_sets_max_wimm, &session::qp_attributes::max_wimm);
    take(session::qp_sets_max_wimm_dest, &session::qp_attributes::max_wimm_dest);
    take(session::qp_sets_timeout, &session::qp_attributes::timeout);
    take(session::qp_sets_retries, &session::qp_attributes::linear);
    take(session::qp_sets_retries, &session::qp_attributes::exponential);
    take(session::qp_sets_capabilities, &session::qp_attributes::capabilities);
    take(session::qp_sets_ev_profile, &session::qp_attributes::ev_profile);
    take(session::qp_sets_cc_profile, &session::qp_attributes::cc_profile);
    qp.known |= wanted.mask;
}

client_session::answer client_session::modify_qp(const session::qp_attributes &wanted)
{
    const auto at = qps_.find(wanted.qpn);
    if (at == qps_.end())
        return {refuse(EINVAL, "no such queue pair in this session"), {}};
    owned_qp &qp = at->second;
    const qp_state from = phase_of(qp).state;
    const qp_state to = (wanted.mask & session::qp_sets_state) != 0 ? static_cast<qp_state>(wanted.state) : from;
    if (const std::string problem = refusal_of(qp, from, wanted); !problem.empty())
        return {refuse(EINVAL, problem), {}};
    if ((wanted.mask & session::qp_asserts_state) != 0 && wanted.current_state != static_cast<std::uint8_t>(from))
        return {refuse(EINVAL, std::string{"the queue pair is in state "} + name_of(from)), {}};
    const bool moves = (wanted.mask & session::qp_sets_state) != 0;
    if (moves && !protocol::next_state(from, event_to(to)))
        return {refuse(EINVAL, std::string{"no way from "} + name_of(from) + " to " + name_of(to)), {}};

    if (const auto held = hold_profiles(wanted); !held)
        return {refuse(EINVAL, held.error().text), {}};
    const session::qp_attributes before = qp.now;
    const std::uint32_t known_before = qp.known;
    adopt(qp, wanted);
    answer done = moves ? move(qp, from, to) : answer{};
    const bool refused = done.reply.error != 0;
    let_go_of_profiles(refused ? wanted : before, wanted.mask);
    if (!refused)
        return query_qp(wanted.qpn);
    qp.now = before; // nothing of a refused change stays
    qp.known = known_before;
    return done;
}

// Nobody counts the users of the built-in profiles: they never go OFFLINE.
session::outcome<> client_session::hold_profiles(const session::qp_attributes &wanted)
{
    const bool takes_ev =
        (wanted.mask & session::qp_sets_ev_profile) != 0 && wanted.ev_profile != session::built_in_profile;
    const bool takes_cc =
        (wanted.mask & session::qp_sets_cc_profile) != 0 && wanted.cc_profile != session::built_in_profile;
    session::outcome<> held;
    if (takes_ev)
        held = shared_.control.ev_profiles().acquire(wanted.ev_profile);
    if (!held || !takes_cc)
        return held;
    held = shared_.control.cc_profiles().acquire(wanted.cc_profile);
    if (!held && takes_ev)
        shared_.control.ev_profiles().release(wanted.ev_profile);
    return held;
}

void client_session::let_go_of_profiles(const session::qp_attributes &of, std::uint32_t mask)
{
    if ((mask & session::qp_sets_ev_profile) != 0 && of.ev_profile != session::built_in_profile)
        shared_.control.ev_profiles().release(of.ev_profile);
    if ((mask & session::qp_sets_cc_profile) != 0 && of.cc_profile != session::built_in_profile)
        shared_.control.cc_profiles().release(of.cc_profile);
}

client_session::answer client_session::move(owned_qp &qp, qp_state from, qp_state to)
{
    const protocol::qpn number{qp.numbers.qpn};
    bool moved = true;
    switch (to) {
    case qp_state::reset:
        reset(qp);
        return {};
    case qp_state::init:
        break;
    case qp_state::ready_to_receive:
        return make_ready_to_receive(qp);
    case qp_state::ready_to_send:
        if (from == qp_state::ready_to_receive)
            return make_ready_to_send(qp);
        [[fallthrough]];
    case qp_state::send_queue_drained:
        shared_.worker.call([&] { moved = shared_.worker.find_qp(number)->protocol->modify(event_to(to)); });
        break;
    case qp_state::error:
        fail(qp);
        break;
    }
    if (!moved) // the peer's packets have made it fail since
        return {refuse(EINVAL, "the queue pair has failed"), {}};
    qp.now.state = static_cast<std::uint8_t>(to);
    return {};
}

client_session::answer client_session::make_ready_to_send(owned_qp &qp)
{
    if ((qp.known & session::qp_sets_send_psn) == 0)
        return {refuse(EINVAL, "RTS needs this end's first PSN"), {}};
    bool begun = false;
    shared_.worker.call([&] {
        datapath::worker_qp &here = *shared_.worker.find_qp(protocol::qpn{qp.numbers.qpn});
        begun = here.protocol->begin_sending(terms_of(qp.now));
        shared_.worker.activate(here);
    });
    if (!begun) // the peer's packets have made it fail since
        return {refuse(EINVAL, "the queue pair has failed"), {}};
    qp.now.state = static_cast<std::uint8_t>(qp_state::ready_to_send);
    return {};
}

// With new rings: nothing that was posted, or is on its way to the worker, survives.
void client_session::reset(owned_qp &qp)
{
    if (qp.in_worker) {
        std::unique_ptr<datapath::worker_qp> gone;
        mrc_qp_row &row = shared_.tables.qps[MRC_QPN_ROW(qp.numbers.qpn)];
        row.peer = {}; // nothing more comes in; the worker reports there as long as it has the queue pair
        shared_.worker.call([&] { gone = shared_.worker.remove_qp(protocol::qpn{qp.numbers.qpn}); });
        row = {};
        row.qpn = qp.numbers.qpn;
        qp.in_worker = false;
    }
    const session::queue_pair_layout layout = layout_of(qp.numbers);
    layout.sends(qp.rings.get()).restart(true);
    layout.receives(qp.rings.get()).restart(true);
    qp.sends_flushed = 0;
    qp.receives_flushed = 0;
    let_go_of_profiles(qp.now);
    ++qp.life;
    qp.now = initial_attributes(qp.numbers.qpn, shared_.config.transport.window_psns);
    qp.known = 0;
}

void client_session::fail(owned_qp &qp)
{
    if (!qp.in_worker) { // the worker never sees what is posted: the client asks for ERROR again after posting
        flush_unconnected(qp);
        return;
    }
    shared_.worker.call([&] {
        datapath::worker_qp &here = *shared_.worker.find_qp(protocol::qpn{qp.numbers.qpn});
        here.protocol->fail(protocol::completion_status::flushed);
        shared_.worker.activate(here);
    });
}

// Both sides know where the other is; what this one has read before is counted in owned_qp.
void client_session::flush_unconnected(owned_qp &qp)
{
    const session::queue_pair_layout layout = layout_of(qp.numbers);
    const auto flushed = [&](std::uint64_t id, std::uint32_t position, std::uint8_t flags) {
        return session::completion_entry{.id = id,
                                         .qpn = qp.numbers.qpn,
                                         .position = position,
                                         .status = static_cast<std::uint8_t>(protocol::completion_status::flushed),
                                         .flags = flags,
                                         .life = qp.life};
    };
    const auto flush = [&](auto ring, auto entry, std::uint32_t &done, std::uint32_t cq, std::uint8_t flags) {
        ring.resume(done);
        for (std::uint32_t n = 0; n < ring.capacity() && ring.pop(entry); ++n)
            cqs_.at(cq).ring->push(flushed(entry.id, done++, flags));
    };
    shared_.worker.call([&] {
        flush(layout.sends(qp.rings.get()), session::send_entry{}, qp.sends_flushed, qp.made.send_cq, 0);
        flush(layout.receives(qp.rings.get()), session::receive_entry{}, qp.receives_flushed, qp.made.receive_cq,
              session::completion_receive);
    });
}

client_session::answer client_session::query_qp(std::uint32_t qpn)
{
    const auto at = qps_.find(qpn);
    if (at == qps_.end())
        return {refuse(EINVAL, "no such queue pair in this session"), {}};
    answer result;
    result.reply.attributes = at->second.now;
    const qp_phase phase = phase_of(at->second);
    result.reply.attributes.state = static_cast<std::uint8_t>(phase.state);
    result.reply.attributes.draining = static_cast<std::uint8_t>(phase.draining);
    result.reply.attributes.mask = 0;
    return result;
}

} // namespace mrc::service
