// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/reports.h"

#include <cerrno>
#include <string>

#include "kernel/map_names.h"
#include "service/sessions/qp_attributes.h"
#include "service/sessions/queue_pairs.h"

namespace mrc::service
{

namespace
{

void fill_paths(const session_state &state, session::qp_report &report, const protocol::queue_pair &qp,
                const protocol::path_group &paths)
{
    report.planes = paths.planes();
    for (unsigned slot = 0; slot < paths.size(); ++slot) {
        const protocol::path_choice path = paths.path(slot);
        switch (paths.state(slot)) {
        case protocol::path_state::good:
            ++(qp.skips(path.slot) ? report.paths_skip : report.paths_good);
            break;
        case protocol::path_state::kept:
            ++report.paths_kept;
            break;
        case protocol::path_state::assumed_bad:
            ++report.paths_assumed_bad;
            break;
        case protocol::path_state::denied:
            ++report.paths_denied;
            break;
        }
        report.plane_tx_packets[path.plane.value] += paths.counters(slot).tx_packets;
        report.plane_rx_packets[path.plane.value] += state.shared.tables.signals[path.index.value].packets;
    }
}

} // namespace

answer describe(const session_state &state)
{
    answer result;
    const limit_options &limits = state.shared.config.limits;
    session::host_reply &host = result.reply.host;
    host = {};
    host.address = state.shared.rules.address_of(state.shared.rules.self());
    host.address4 = state.shared.rules.address4_of(state.shared.rules.self()).value_or(mrc_ip{});
    host.payload_bytes = state.shared.payload_bytes;
    host.planes = state.shared.rules.planes();
    const ports_view ports = state.shared.ports.view();
    host.guid = ports.guid;
    const auto gbps = static_cast<std::uint32_t>(state.shared.config.transport.port_bits_per_second() / 1'000'000'000);
    for (const port_options &port : state.shared.config.ports) {
        const protocol::plane_index plane = port.plane;
        const bool enabled = ports.enabled.has(plane);
        host.ports[plane.value] = {.up = static_cast<std::uint8_t>(enabled && ports.up.has(plane)),
                                   .enabled = static_cast<std::uint8_t>(enabled),
                                   .mtu = static_cast<std::uint16_t>(ports.mtu[plane.value]),
                                   .gbps = gbps};
    }
    host.max_qps = most_of_a_session(limits);
    host.max_regions = limits.memory_regions;
    host.max_bytes = limits.memory_bytes;
    host.max_cqs = limits.completion_queues;
    host.max_cq_entries = limits.completion_entries;
    host.max_requests = limits.work_requests;
    host.max_pieces = most_pieces;
    host.max_inline = most_inline;
    host.max_mpr = state.shared.config.transport.window_psns / MRC_MPR_UNIT;
    host.max_wimm = most_immediates;
    host.process_memory = state.process ? 1 : 0;
    const std::string &name = state.shared.config.daemon.instance;
    name.copy(host.instance, sizeof(host.instance) - 1);
    return result;
}

answer report_qp(const session_state &state, std::uint32_t qpn)
{
    const auto at = state.qps.find(qpn);
    if (at == state.qps.end() || !at->second.in_worker)
        return refuse(EINVAL, "no such connected queue pair in this session");
    answer result;
    session::qp_report &report = result.reply.report;
    report = {};
    report.payload_bytes = at->second.now.payload_bytes;
    state.worker().call([&] {
        const datapath::worker_qp &qp = *state.worker().find_qp(protocol::qpn{qpn});
        const protocol::qp_counters &counters = qp.protocol->counters();
        report.rx_packets = counters.rx_packets;
        report.rx_bytes = counters.rx_bytes;
        report.rx_duplicates = counters.rx_duplicates;
        report.rx_refused = counters.rx_refused;
        report.tx_packets = counters.tx_packets;
        report.tx_bytes = counters.tx_bytes;
        report.retransmits = counters.retransmits;
        report.spurious = counters.spurious;
        report.timeouts = counters.timeouts;
        report.losses = counters.losses;
        report.nacks = counters.nacks;
        report.sacks_sent = counters.sacks_sent;
        report.sacks_received = counters.sacks_received;
        report.longest_stall_ns = static_cast<std::uint64_t>(qp.protocol->progress().longest_gap.count());
        report.smoothed_rtt_ns = static_cast<std::uint64_t>(qp.protocol->rtt().smoothed().count());
        report.cwnd_bytes = qp.congestion->cwnd();
        report.state = static_cast<std::uint32_t>(qp.protocol->state());
        if (!qp.peer.own_host) // no plane and no path leads there
            fill_paths(state, report, *qp.protocol, *qp.peer.paths);
    });
    return result;
}

answer reset_progress(const session_state &state, std::uint32_t qpn)
{
    const auto at = state.qps.find(qpn);
    if (at == state.qps.end() || !at->second.in_worker)
        return refuse(EINVAL, "no such connected queue pair in this session");
    state.worker().call([&] { state.worker().find_qp(protocol::qpn{qpn})->protocol->reset_progress(); });
    return {};
}

answer query_status(const session_state &state)
{
    answer result;
    session::status_report &status = result.reply.status;
    status = {};
    datapath::worker_counters counters;
    datapath::transmit_counters sent;
    state.shared.workers.call_each([&](unsigned number, const datapath::worker &worker) {
        counters += worker.counters();
        sent += state.shared.ports.transmitted(number);
    });
    status.received = counters.received;
    status.bad_icrc = counters.drops[MRC_AGENT_DROP_BAD_ICRC];
    for (std::uint32_t verdict = MRC_AGENT_ACCEPTED + 1; verdict < MRC_VERDICT_COUNT; ++verdict)
        status.dropped += kernel::is_drop(static_cast<mrc_verdict>(verdict)) ? counters.drops[verdict] : 0;
    status.worker_loops = counters.loops;
    status.worker_sleeps = counters.sleeps;
    status.backlogged = counters.backlogged;
    status.transmit_sent = sent.sent;
    status.transmit_refused = sent.refused;
    status.socket_dropped = state.shared.ports.socket_drops();
    status.plane_mask = state.shared.tables.host[0].plane_mask;
    status.qps = static_cast<std::uint32_t>(state.qps.size());
    return result;
}

} // namespace mrc::service
