// SPDX-License-Identifier: Apache-2.0
// What the worker shows to operators: rows of the mmaped maps, written every 10 ms, never per packet.
#include "datapath/worker.h"

namespace mrc::datapath
{

void worker::report()
{
    for (const auto &qp : qps_)
        report_qp(*qp);
    for (const probe_targets::group &group : targets_.groups())
        report_paths(*group.paths);
}

void worker::report_qp(const worker_qp &qp)
{
    const protocol::qp_counters &counters = qp.protocol->counters();
    mrc_qp &row = (*io_.qps)[MRC_QPN_ROW(qp.number.value)];
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
    row.cwnd_bytes = static_cast<__u32>(qp.congestion->cwnd());
    row.inflight_bytes = static_cast<__s32>(qp.congestion->inflight());
}

void worker::report_paths(protocol::path_group &group)
{
    static constexpr __u16 states[] = {MRC_PATH_GOOD, MRC_PATH_SKIP, MRC_PATH_ASSUMED_BAD, MRC_PATH_DENIED};
    while (group.next_transition())
        continue; // the rows below carry the states; transitions are for subscribers
    for (unsigned slot = 0; slot < group.size(); ++slot) {
        mrc_path &row = (*io_.paths)[group.path(slot).index.value];
        row.state = states[static_cast<std::size_t>(group.state(slot))];
        row.retransmits = group.counters(slot).retransmits;
        row.losses = group.counters(slot).losses;
    }
}

} // namespace mrc::datapath
