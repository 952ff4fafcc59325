// SPDX-License-Identifier: Apache-2.0
// What the worker shows to operators: rows of the mmaped maps, written every 10 ms, never per packet.
#include "datapath/worker.h"

#include <algorithm>
#include <utility>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

namespace mrc::datapath
{

namespace
{

// While packets are dropped for want of room here, SACKs ask the senders to slow down; no path is to blame for such
// losses. The request stands until the next look, some ten to fifty RTTs later: 2 of 128 per window of bytes leaves
// them between half and nine tenths. It is not taken back: the window that was too large grows again by itself.
constexpr std::uint8_t overload_penalty = 2;

constexpr std::size_t idle_reports = 16;

} // namespace

void worker::follow_receive_drops()
{
    std::uint64_t dropped = 0;
    for (const auto &socket : *io_.sockets) {
        const auto drops = socket->drops(); // the kernel counts each packet in one of them
        dropped += drops.receive_dropped + drops.receive_ring_full;
    }
    const std::uint8_t penalty = dropped != receive_dropped_ ? overload_penalty : std::uint8_t{0};
    receive_dropped_ = dropped;
    if (penalty == std::exchange(receive_penalty_, penalty))
        return;
    for (const auto &qp : qps_) // an idle one has to know it, too, when it goes on
        qp->protocol->set_receive_penalty(penalty);
}

void worker::report()
{
    follow_receive_drops();
    for_each_active([this](const worker_qp &qp) { report_qp(qp); });
    // Of the others, what they share with their peer's queue pairs changes: some at a time.
    for (std::size_t n = std::min(idle_reports, qps_.size()); n > 0; --n) {
        report_turn_ = (report_turn_ + 1) % qps_.size();
        report_qp(*qps_[report_turn_]);
    }
    for (const probe_targets::group &group : targets_.groups())
        report_paths(*group.paths);
    report_verdicts();
}

std::size_t worker::possible_cpus()
{
    return static_cast<std::size_t>(std::max(libbpf_num_possible_cpus(), 1));
}

// Per-CPU arrays cannot be mapped: a row that changed costs a system call each time. No program counts in these rows.
void worker::report_verdicts()
{
    for (std::uint32_t row = MRC_AGENT_ACCEPTED; row < MRC_VERDICT_COUNT; ++row) {
        if (counters_.drops[row] == reported_drops_[row])
            continue;
        verdict_row_.front() = counters_.drops[row];
        if (bpf_map_update_elem(io_.verdicts_fd, &row, verdict_row_.data(), BPF_ANY) == 0)
            reported_drops_[row] = counters_.drops[row];
    }
}

void worker::report_qp(const worker_qp &qp)
{
    const protocol::qp_counters &counters = qp.protocol->counters();
    mrc_qp_row &row = (*io_.qps)[MRC_QPN_ROW(qp.number.value)];
    row.state = static_cast<__u32>(qp.protocol->state());
    row.rx_packets = counters.rx_packets;
    row.rx_bytes = counters.rx_bytes;
    row.rx_duplicates = counters.rx_duplicates;
    row.rx_out_of_window = counters.rx_out_of_window;
    row.rx_refused = counters.rx_refused;
    row.tx_packets = counters.tx_packets;
    row.tx_bytes = counters.tx_bytes;
    row.retransmits = counters.retransmits;
    row.timeouts = counters.timeouts;
    row.nacks = counters.nacks;
    row.sacks_sent = counters.sacks_sent;
    row.sacks_received = counters.sacks_received;
    report_reasons(row, counters);
    row.cwnd_bytes = static_cast<__u32>(qp.congestion->cwnd());
    row.inflight_bytes = static_cast<__s32>(qp.congestion->inflight());
}

void worker::report_reasons(mrc_qp_row &row, const protocol::qp_counters &counters)
{
    row.losses = counters.losses;
    row.losses_by_age = counters.losses_by_age;
    row.losses_by_sleek = counters.losses_by_sleek;
    row.spurious = counters.spurious;
    row.silences = counters.silences;
    row.rx_trimmed = counters.rx_trimmed;
    row.rx_congested = counters.rx_congested;
    row.rx_malformed = counters.rx_malformed;
    row.rx_busy = counters.rx_busy;
    row.rx_unexpected = counters.rx_unexpected;
    row.rx_bad_immediate = counters.rx_bad_immediate;
    row.rx_no_receive = counters.rx_no_receive;
    row.rx_wrong_state = counters.rx_wrong_state;
    row.sacks_stale = counters.sacks_stale;
    row.sacks_rejected = counters.sacks_rejected;
    row.acks_rejected = counters.acks_rejected;
    row.nacks_rejected = counters.nacks_rejected;
    row.probes_rejected = counters.probes_rejected;
    row.nacks_stale = counters.nacks_stale;
    row.nacks_unknown = counters.nacks_unknown;
    row.acks_unknown = counters.acks_unknown;
    row.control_dropped = counters.control_dropped;
}

void worker::report_paths(protocol::path_group &group)
{
    static constexpr __u16 states[] = {MRC_PATH_GOOD, MRC_PATH_ASSUMED_BAD, MRC_PATH_DENIED};
    while (const auto change = group.next_transition())
        if (io_.on_path_state)
            io_.on_path_state(change->path, change->to);
    for (unsigned slot = 0; slot < group.size(); ++slot) {
        mrc_path_row &row = (*io_.paths)[group.path(slot).index.value];
        row.state = states[static_cast<std::size_t>(group.state(slot))];
        row.retransmits = group.counters(slot).retransmits;
        row.losses = group.counters(slot).losses;
    }
}

} // namespace mrc::datapath
