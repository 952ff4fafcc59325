// SPDX-License-Identifier: Apache-2.0
#include "datapath/map_reporter.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <vector>

#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel/map_names.h"

namespace mrc::datapath
{

namespace
{

constexpr std::size_t rows_at_a_time = 16;

void write_reasons(mrc_qp_row &row, const protocol::qp_counters &counters)
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
    row.rx_no_memory = counters.rx_no_memory;
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
    row.penalties = counters.penalties;
}

// The counts have grown by less than 2^32 since.
void follow(__u64 (&row)[MRC_RTT_BUCKETS], const protocol::duration_histogram &histogram)
{
    for (std::size_t bucket = 0; bucket < std::size(row); ++bucket)
        row[bucket] += histogram.by_log2()[bucket] - static_cast<__u32>(row[bucket]);
}

__u32 nanoseconds(protocol::duration time)
{
    return static_cast<__u32>(std::min<std::int64_t>(time.count(), UINT32_MAX));
}

} // namespace

void write_round_trips(mrc_qp_row &row, const protocol::rtt_estimator &rtt)
{
    if (!rtt.has_sample())
        return;
    row.rtt_ns = nanoseconds(rtt.smoothed());
    row.rtt_min_ns = nanoseconds(rtt.minimum());
    follow(row.rtt_log2, rtt.histogram());
}

void write_row(mrc_qp_row &row, const worker_qp &qp)
{
    const protocol::qp_counters &counters = qp.protocol->counters();
    row.state = static_cast<mrc_qp_state>(qp.protocol->state());
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
    write_reasons(row, counters);
    row.cwnd_bytes = static_cast<__u32>(std::min<std::uint64_t>(qp.congestion->cwnd(), UINT32_MAX));
    row.inflight_bytes = static_cast<__s32>(qp.congestion->inflight());
    write_round_trips(row, qp.protocol->rtt());
}

void write_limit(mrc_qp_row &row, worker_qp &qp, protocol::instant now)
{
    static constexpr __u64 mrc_qp_row::*waited[] = {
        nullptr,
        &mrc_qp_row::limited_application_ns,
        &mrc_qp_row::limited_worker_ns,
        &mrc_qp_row::limited_receiver_ns,
        &mrc_qp_row::limited_congestion_ns,
        &mrc_qp_row::limited_loss_ns,
        &mrc_qp_row::limited_paths_ns,
        &mrc_qp_row::limited_memory_ns,
    };
    static_assert(std::size(waited) == MRC_LIMIT_MEMORY + 1 &&
                  static_cast<int>(protocol::send_limit::memory) == MRC_LIMIT_MEMORY);
    const auto at = static_cast<__u64>(now.time_since_epoch().count());
    const __u32 before = row.limit;
    if (before != MRC_LIMIT_NOTHING && before < std::size(waited) && at > row.limit_since_ns)
        row.*waited[before] += at - row.limit_since_ns;
    row.limit = static_cast<mrc_send_limit>(qp.protocol->limit());
    row.limit_since_ns = at;
}

void write_state(const kernel::mapped_array<mrc_path_row> &rows, protocol::path_index path, protocol::path_state state)
{
    static constexpr mrc_path_state states[] = {MRC_PATH_GOOD, MRC_PATH_KEPT, MRC_PATH_ASSUMED_BAD, MRC_PATH_DENIED};
    rows[path.value].state = states[static_cast<std::size_t>(state)];
}

std::size_t write_counts(const kernel::mapped_array<mrc_path_row> &rows, protocol::path_group &group)
{
    std::size_t written = 0;
    while (const auto slot = group.next_counted()) {
        mrc_path_row &row = rows[group.path(*slot).index.value];
        const protocol::path_counters grown = group.take_growth(*slot); // other workers add theirs
        std::atomic_ref{row.retransmits}.fetch_add(grown.retransmits, std::memory_order_relaxed);
        std::atomic_ref{row.losses}.fetch_add(grown.losses, std::memory_order_relaxed);
        ++written;
    }
    return written;
}

std::size_t changed_queue_pairs::write_all(const kernel::mapped_array<mrc_qp_row> &rows)
{
    std::size_t written = 0;
    worker_qp *next = nullptr;
    for (worker_qp *qp = changed_.front(); qp != nullptr; qp = next) {
        next = qp->unreported.next;
        write_row(rows[MRC_QPN_ROW(qp->number.value)], *qp);
        ++written;
        if (!qp->active)
            changed_.remove(*qp);
    }
    return written;
}

void idle_reports::write_some(const kernel::mapped_array<mrc_qp_row> &rows,
                              std::span<const std::unique_ptr<worker_qp>> all)
{
    for (std::size_t n = std::min(rows_at_a_time, all.size()); n > 0; --n) {
        turn_ = (turn_ + 1) % all.size();
        const worker_qp &qp = *all[turn_];
        write_row(rows[MRC_QPN_ROW(qp.number.value)], qp);
    }
}

void verdict_report::publish(const verdict_counts &counts)
{
    for (std::uint32_t row = MRC_AGENT_ACCEPTED; row < MRC_VERDICT_COUNT; ++row)
        publish_row(row, counts[row]);
}

void verdict_report::publish_drops(const verdict_counts &counts)
{
    for (std::uint32_t row = MRC_AGENT_ACCEPTED; row < MRC_VERDICT_COUNT; ++row)
        if (counts[row] != written_[row] && kernel::is_drop(static_cast<mrc_verdict>(row)))
            publish_row(row, counts[row]);
}

void verdict_report::publish_row(std::uint32_t row, std::uint64_t count)
{
    if (count != written_[row] && write_(row, count))
        written_[row] = count;
}

void worker_report::begin()
{
    if (row_ == nullptr)
        return;
    times_.open();
    row_->thread = static_cast<__u32>(::gettid());
}

void worker_report::write(const worker_counters &counters, std::uint64_t socket_drops, protocol::instant now)
{
    if (row_ == nullptr)
        return;
    row_->rounds = counters.loops;
    row_->sleeps = counters.sleeps;
    row_->rx_packets = counters.received;
    row_->rx_late = counters.backlogged;
    row_->rx_dropped = socket_drops;
    follow(row_->lag_log2, counters.lag);
    if (now < next_look_)
        return;
    next_look_ = now + look_interval;
    if (const auto times = times_.read()) {
        row_->ran_ns = times->ran_ns;
        row_->waited_ns = times->waited_ns;
        row_->looked_ns = static_cast<__u64>(now.time_since_epoch().count());
    }
}

verdict_sums::verdict_sums(int verdicts_fd)
    : fd_{verdicts_fd}, values_(static_cast<std::size_t>(std::max(libbpf_num_possible_cpus(), 1)))
{
}

bool verdict_sums::write(unsigned worker, std::uint32_t row, std::uint64_t count)
{
    const std::scoped_lock guard{writing_};
    counts_[worker][row] = count;
    values_.front() = 0;
    for (const verdict_counts &each : counts_)
        values_.front() += each[row];
    return bpf_map_update_elem(fd_, &row, values_.data(), BPF_ANY) == 0;
}

} // namespace mrc::datapath
