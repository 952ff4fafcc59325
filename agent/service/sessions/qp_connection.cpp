// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/qp_connection.h"

#include <algorithm>
#include <cerrno>

#include "kernel/monotonic_clock.h"
#include "service/address.h"
#include "service/config/profiles.h"
#include "service/congestion.h"
#include "service/sessions/client_pipes.h"
#include "service/sessions/qp_attributes.h"
#include "service/sessions/queue_pairs.h"
#include "service/sessions/random_number.h"

namespace mrc::service
{

using protocol::qp_state;

namespace
{

// By which the peer is known in the family that was named, whichever of its addresses that was.
mrc_ip known_as(const mrc_ip &named, const datapath::worker_peer &peer)
{
    return is_ipv4(named) ? named : peer.address;
}

// Packets do not say which queue pair they come from, only the host: who could connect to any of the peer's would write
// to the memory of another client's connection.
bool is_connected_by_another(const session_state &state, const datapath::worker_peer &peer, protocol::qpn number)
{
    bool found = false;
    state.shared.workers.call_each([&](unsigned, datapath::worker &worker) {
        const datapath::worker_client *client = worker.connected().client_of(peer, number);
        found = found || (client != nullptr && client != state.worker_side);
    });
    return found;
}

std::unique_ptr<datapath::worker_qp> build_qp(const session_state &state, const owned_qp &qp,
                                              const datapath::worker_peer &peer)
{
    const session::queue_pair_layout layout = layout_of(qp.numbers);
    void *rings = qp.rings.get();
    const peer_defaults able = peer_of(qp.now);
    const transport_options &transport = state.shared.config.transport;
    auto built = std::make_unique<datapath::worker_qp>();
    built->number = protocol::qpn{qp.numbers.qpn};
    built->client = state.worker_side;
    built->peer_number = protocol::qpn{qp.now.peer_qpn};
    built->bell = qp.numbers.bell;
    built->resets = qp.resets;
    built->peer = peer;
    built->address = known_as(qp.now.peer, peer);
    if (!peer.own_host) // whose packets come by no port
        std::ranges::copy(state.shared.rules.sources_of(qp.now.peer), built->sources.begin());
    built->memory = std::make_unique<datapath::region_view>(
        state.worker().regions(), datapath::protection_domain{.owner = state.number, .number = qp.made.pd},
        (qp.now.access & session::access_remote_write) != 0, built->number);
    built->sends = layout.sends(rings);
    built->receives = layout.receives(rings);
    built->posted = std::make_unique<datapath::posted_sends>(layout, rings, &state.worker().memory());
    built->send_completions = state.cqs.at(qp.made.send_cq).ring.get();
    built->receive_completions = state.cqs.at(qp.made.receive_cq).ring.get();
    built->events = events_of(state, qp.made.events);
    if (qp.now.cc_profile != session::built_in_profile)
        built->own_congestion = make_congestion_control(state.shared.control.cc_profiles().find(qp.now.cc_profile),
                                                        nscc_link_of(state.shared.config, state.shared.payload_bytes));
    else if (peer.congestion == nullptr)
        built->own_congestion =
            make_congestion_control(transport, state.shared.payload_bytes, state.shared.rules.planes());
    built->congestion = built->own_congestion ? built->own_congestion.get() : peer.congestion;
    built->protocol = std::make_unique<protocol::queue_pair>(
        protocol::qp_config{.local = built->number,
                            .peer = protocol::qpn{qp.now.peer_qpn},
                            .first_send = protocol::psn{qp.now.send_psn},
                            .first_receive = protocol::psn{qp.now.receive_psn},
                            .payload_bytes = qp.now.payload_bytes,
                            .window_psns = transport.window_psns,
                            .receive_window_psns = qp.now.mpr_dest * std::uint32_t{MRC_MPR_UNIT},
                            .dynamic_mpr = able.dynamic_mpr,
                            .max_wimm = qp.now.max_wimm,
                            .receive_max_wimm = qp.now.max_wimm_dest,
                            .send_queue_depth = qp.numbers.send_depth,
                            .receive_queue_depth = qp.numbers.receive_depth,
                            .state = protocol::qp_state::ready_to_receive,
                            .service_time = able.service_time,
                            .retry = {},
                            .trim_nack = able.trim_nack,
                            .answer_trimmed = transport.trim_nack,
                            .nack_out_of_window = state.shared.config.wire.oor == out_of_range::nack,
                            .backlog_mark = std::chrono::microseconds{transport.backlog_mark_us},
                            .seed = std::uint64_t{random_number()} << 32 | random_number()},
        protocol::qp_surroundings{.paths = *peer.paths,
                                  .memory = *built->memory,
                                  .control = *built->congestion,
                                  .peer_ports = &peer.ports->peer_ports(),
                                  .peer = peer.planes,
                                  .pool = &state.worker().memory(),
                                  .proofs = peer.proofs,
                                  .trace = state.worker().trace()});
    return built;
}

} // namespace

answer connect_qp(session_state &state, owned_qp &qp)
{
    if ((qp.known & session::qp_sets_peer) == 0 || (qp.known & session::qp_sets_receive_psn) == 0)
        return refuse(EINVAL, "RTR needs the peer's address, queue pair number and first PSN");
    auto held = state.shared.control.peer_for(qp.now.peer, qp.now.ev_profile, state.seat.number());
    if (!held)
        return refuse(held.error().is_full ? ENOMEM : EHOSTUNREACH, held.error().text);
    const datapath::worker_peer &peer = held->peer;
    if (is_connected_by_another(state, peer, protocol::qpn{qp.now.peer_qpn}))
        return refuse(EBUSY, "another client of this host is connected to that queue pair of the peer");
    const std::uint32_t fits = state.shared.payload_bytes;
    qp.now.payload_bytes = qp.now.payload_bytes == 0 ? fits : std::min(qp.now.payload_bytes, fits);
    std::unique_ptr<datapath::worker_qp> built = build_qp(state, qp, peer);
    state.worker().call([&] {
        built->congestion->begin_with(share_of(qp.now, built->own_congestion == nullptr));
        state.worker().add_qp(std::move(built));
    });
    mrc_qp_row &row = state.shared.tables.qps[MRC_QPN_ROW(qp.numbers.qpn)];
    row.peer_qpn = qp.now.peer_qpn;
    row.mpr = qp.now.mpr * std::uint32_t{MRC_MPR_UNIT};
    row.peer = known_as(qp.now.peer, peer);
    row.worker = static_cast<__u8>(state.seat.number());
    row.sender = state.shared.peers.sender_of(peer, row.peer); // whichever of its addresses was named
    list_qp(state, qp);
    qp.in_worker = true;
    qp.peer = std::move(held->hold);
    qp.now.state = static_cast<std::uint8_t>(qp_state::ready_to_receive);
    state.shared.log.on_queue_pair(MRC_EVENT_QP_CONNECTED, names_of(state, qp), MRC_REASON_NONE,
                                   kernel::monotonic_now());
    return {};
}

void take_hint(const session_state &state, const owned_qp &qp)
{
    state.worker().call([&] {
        const datapath::worker_qp &here = *state.worker().find_qp(protocol::qpn{qp.numbers.qpn});
        here.congestion->begin_with(share_of(qp.now, here.own_congestion == nullptr));
    });
}

answer start_sending(session_state &state, owned_qp &qp)
{
    if ((qp.known & session::qp_sets_send_psn) == 0)
        return refuse(EINVAL, "RTS needs this end's first PSN");
    bool begun = false;
    state.worker().call([&] {
        datapath::worker_qp &here = *state.worker().find_qp(protocol::qpn{qp.numbers.qpn});
        begun = here.protocol->begin_sending(terms_of(qp.now));
        state.worker().activate(here);
    });
    if (!begun) // the peer's packets have made it fail since
        return refuse(EINVAL, "the queue pair has failed");
    qp.now.state = static_cast<std::uint8_t>(qp_state::ready_to_send);
    return {};
}

void tell_closed(const session_state &state, const queue_pair_names &which, mrc_event_reason reason)
{
    state.shared.control.observe_notes(); // it may have failed before
    state.shared.log.on_queue_pair(MRC_EVENT_QP_CLOSED, which, reason, kernel::monotonic_now());
}

void list_qp(const session_state &state, const owned_qp &qp)
{
    const mrc_qp_row &row = state.shared.tables.qps[MRC_QPN_ROW(qp.numbers.qpn)];
    mrc_qp_in_use listed{.qpn = row.qpn,
                         .peer_qpn = row.peer_qpn,
                         .peer = {},
                         .session = state.number,
                         .pid = state.client.pid,
                         .command = {}};
    write_text(listed.peer, row.peer);
    std::ranges::copy(state.client.command, listed.command);
    state.shared.clients.set_queue_pair(MRC_QPN_ROW(qp.numbers.qpn), listed);
}

queue_pair_names names_of(const session_state &state, const owned_qp &qp)
{
    return {.qpn = qp.numbers.qpn,
            .peer_qpn = qp.now.peer_qpn,
            .session = state.number,
            .peer = state.shared.tables.qps[MRC_QPN_ROW(qp.numbers.qpn)].peer};
}

void disconnect_qp(session_state &state, owned_qp &qp)
{
    const queue_pair_names which = names_of(state, qp);
    mrc_qp_row &row = state.shared.tables.qps[MRC_QPN_ROW(qp.numbers.qpn)];
    row.sender = 0; // nothing more comes in; the worker reports there as long as it has the queue pair
    std::unique_ptr<datapath::worker_qp> gone;
    state.worker().call([&] { gone = state.worker().remove_qp(protocol::qpn{qp.numbers.qpn}); });
    row = unconnected_row(state, qp);
    list_qp(state, qp);
    qp.in_worker = false;
    qp.peer = {};
    tell_closed(state, which, MRC_REASON_RESET);
}

} // namespace mrc::service
