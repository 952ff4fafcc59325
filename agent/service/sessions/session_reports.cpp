// SPDX-License-Identifier: Apache-2.0
// What a client may ask about its queue pairs and the daemon.
#include "service/sessions/client_session.h"

namespace mrc::service
{

void client_session::fill_paths(session::qp_report &report, const protocol::queue_pair &qp,
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
        report.plane_tx_packets[path.lane.value] += paths.counters(slot).tx_packets;
        report.plane_rx_packets[path.lane.value] += shared_.tables.signals[path.index.value].packets;
    }
}

client_session::answer client_session::report_qp(std::uint32_t qpn)
{
    const auto at = qps_.find(qpn);
    if (at == qps_.end() || !at->second.in_worker)
        return {refuse(EINVAL, "no such connected queue pair in this session"), {}};
    answer result;
    session::qp_report &report = result.reply.report;
    report = {};
    report.payload_bytes = at->second.now.payload_bytes;
    shared_.worker.call([&] {
        const datapath::worker_qp &qp = *shared_.worker.find_qp(protocol::qpn{qpn});
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
        report.smoothed_rtt_ns = static_cast<std::uint64_t>(qp.protocol->smoothed_rtt().count());
        report.cwnd_bytes = qp.congestion->cwnd();
        report.state = static_cast<std::uint32_t>(qp.protocol->state());
        fill_paths(report, *qp.protocol, *qp.peer.paths);
    });
    return result;
}

client_session::answer client_session::reset_progress(std::uint32_t qpn)
{
    const auto at = qps_.find(qpn);
    if (at == qps_.end() || !at->second.in_worker)
        return {refuse(EINVAL, "no such connected queue pair in this session"), {}};
    shared_.worker.call([&] { shared_.worker.find_qp(protocol::qpn{qpn})->protocol->reset_progress(); });
    return {};
}

client_session::answer client_session::query_status()
{
    answer result;
    session::status_report &status = result.reply.status;
    status = {};
    shared_.worker.call([&] {
        const datapath::worker_counters &counters = shared_.worker.counters();
        status.received = counters.received;
        status.bad_icrc = counters.drops[MRC_AGENT_DROP_BAD_ICRC];
        for (std::uint32_t verdict = MRC_AGENT_ACCEPTED + 1; verdict < MRC_VERDICT_COUNT; ++verdict)
            status.dropped += counters.drops[verdict];
        status.worker_loops = counters.loops;
        status.worker_sleeps = counters.sleeps;
        status.backlogged = counters.backlogged;
        const auto sent = shared_.ports.transmitted();
        status.transmit_sent = sent.sent;
        status.transmit_refused = sent.refused;
    });
    status.socket_dropped = shared_.ports.socket_drops();
    status.plane_mask = shared_.tables.host[0].plane_mask;
    status.qps = static_cast<std::uint32_t>(qps_.size());
    return result;
}

} // namespace mrc::service
