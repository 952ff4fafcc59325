// SPDX-License-Identifier: Apache-2.0
// A client's queue pair meets its peer: from RTR on the worker has it.
#include "service/address.h"
#include "service/config/config_profiles.h"
#include "service/congestion.h"
#include "service/sessions/client_session.h"

namespace mrc::service
{

using protocol::qp_state;

namespace
{

// What the peer sends from in the family that was named, whichever of its addresses that was.
mrc_ip source_of(const mrc_ip &named, const datapath::worker_peer &peer)
{
    return is_ipv4(named) ? named : peer.address;
}

} // namespace

// Packets do not say which queue pair they come from, only the host: who could connect to any of the peer's would write
// to the memory of another client's connection.
bool client_session::is_connected_by_another(const datapath::worker_peer &peer, protocol::qpn number)
{
    bool found = false;
    shared_.worker.call([&] {
        const datapath::worker_client *client = shared_.worker.connected().client_of(peer, number);
        found = client != nullptr && client != client_;
    });
    return found;
}

client_session::answer client_session::make_ready_to_receive(owned_qp &qp)
{
    if ((qp.known & session::qp_sets_peer) == 0 || (qp.known & session::qp_sets_receive_psn) == 0)
        return {refuse(EINVAL, "RTR needs the peer's address, queue pair number and first PSN"), {}};
    const auto peer = shared_.control.peer_for(qp.now.peer, qp.now.ev_profile);
    if (!peer)
        return {refuse(EHOSTUNREACH, peer.error()), {}};
    if (is_connected_by_another(*peer, protocol::qpn{qp.now.peer_qpn}))
        return {refuse(EBUSY, "another client of this host is connected to that queue pair of the peer"), {}};
    const std::uint32_t fits = shared_.payload_bytes;
    qp.now.payload_bytes = qp.now.payload_bytes == 0 ? fits : std::min(qp.now.payload_bytes, fits);
    std::unique_ptr<datapath::worker_qp> built = build_qp(qp, *peer);
    shared_.worker.call([&] { shared_.worker.add_qp(std::move(built)); });
    mrc_qp_row &row = shared_.tables.qps[MRC_QPN_ROW(qp.numbers.qpn)];
    row.peer_qpn = qp.now.peer_qpn;
    row.mpr = qp.now.mpr * std::uint32_t{MRC_MPR_UNIT};
    row.peer = source_of(qp.now.peer, *peer); // what the peer sends from, whichever of its addresses was named
    qp.in_worker = true;
    qp.now.state = static_cast<std::uint8_t>(qp_state::ready_to_receive);
    return {};
}

std::unique_ptr<datapath::worker_qp> client_session::build_qp(const owned_qp &qp, const datapath::worker_peer &peer)
{
    const session::queue_pair_layout layout = layout_of(qp.numbers);
    void *rings = qp.rings.get();
    const transport_options &transport = shared_.config.transport;
    auto built = std::make_unique<datapath::worker_qp>();
    built->number = protocol::qpn{qp.numbers.qpn};
    built->client = client_;
    built->peer_number = protocol::qpn{qp.now.peer_qpn};
    built->bell = qp.numbers.bell;
    built->life = qp.life;
    built->peer = peer;
    built->address = source_of(qp.now.peer, peer);
    built->memory = std::make_unique<datapath::region_view>(
        shared_.worker.regions(), datapath::protection_domain{.owner = number_, .number = qp.made.pd},
        (qp.now.access & datapath::access_remote_write) != 0);
    built->sends = layout.sends(rings);
    built->receives = layout.receives(rings);
    built->posted = std::make_unique<datapath::posted_sends>(layout, rings);
    built->send_completions = cqs_.at(qp.made.send_cq).ring.get();
    built->receive_completions = cqs_.at(qp.made.receive_cq).ring.get();
    built->events = events_of(qp.made.events);
    if (qp.now.cc_profile != session::built_in_profile)
        built->own_congestion = make_congestion_control(shared_.control.cc_profiles().find(qp.now.cc_profile),
                                                        nscc_link_of(shared_.config, shared_.payload_bytes));
    else if (peer.congestion == nullptr)
        built->own_congestion = make_congestion_control(transport, shared_.payload_bytes, shared_.rules.planes());
    built->congestion = built->own_congestion ? built->own_congestion.get() : peer.congestion;
    built->protocol = std::make_unique<protocol::queue_pair>(
        protocol::qp_config{.local = built->number,
                            .peer = protocol::qpn{qp.now.peer_qpn},
                            .first_send = protocol::psn{qp.now.send_psn},
                            .first_receive = protocol::psn{qp.now.receive_psn},
                            .payload_bytes = qp.now.payload_bytes,
                            .window_psns = transport.window_psns,
                            .receive_window_psns = qp.now.mpr_dest * std::uint32_t{MRC_MPR_UNIT},
                            .dynamic_mpr = shared_.config.peers.dynamic_mpr,
                            .max_wimm = qp.now.max_wimm,
                            .receive_max_wimm = qp.now.max_wimm_dest,
                            .send_queue_depth = qp.numbers.send_depth,
                            .receive_queue_depth = qp.numbers.receive_depth,
                            .state = protocol::qp_state::ready_to_receive,
                            .service_time = shared_.config.peers.service_time,
                            .retry = {},
                            .trim_nack = shared_.config.peers.trim_nack,
                            .answer_trimmed = transport.trim_nack,
                            .nack_out_of_window = shared_.config.wire.oor == out_of_range::nack,
                            .seed = std::uint64_t{random_word()} << 32 | random_word()},
        protocol::qp_surroundings{.paths = *peer.paths,
                                  .memory = *built->memory,
                                  .control = *built->congestion,
                                  .peer_ports = &peer.ports->peer_ports(),
                                  .peer = peer.planes});
    return built;
}

} // namespace mrc::service
