// SPDX-License-Identifier: Apache-2.0
// What the worker shows to operators: rows of the mmaped maps, and the agent's rows of `verdicts`. Written at times,
// never per packet.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "datapath/linked_list.h"
#include "datapath/worker_client.h"
#include "datapath/worker_counters.h"
#include "kernel/mapped_array.h"
#include "kernel/thread_times.h"
#include "mrc/abi/maps.h"
#include "protocol/paths/path_group.h"

namespace mrc::datapath
{

void write_row(mrc_qp_row &row, const worker_qp &qp);
// As far as there are any. Counts go on where they pass 2^32 in the estimator.
void write_round_trips(mrc_qp_row &row, const protocol::rtt_estimator &rtt);
// The queue pair has had its turn, which began then: what it has waited for until then, and what it waits for now.
void write_limit(mrc_qp_row &row, worker_qp &qp, protocol::instant now);
// Counters of the group's paths that have grown since it was called last. How many rows it has written.
std::size_t write_counts(const kernel::mapped_array<mrc_path_row> &rows, protocol::path_group &group);
void write_state(const kernel::mapped_array<mrc_path_row> &rows, protocol::path_index path, protocol::path_state state);

// Queue pairs whose rows are not what they are: all that have been active since the last report, the only ones to which
// anything has happened. Those that wait or rest cost nothing, however many there are.
class changed_queue_pairs
{
public:
    // At each activation.
    void note(worker_qp &qp)
    {
        if (!qp.unreported.listed)
            changed_.push_back(qp);
    }
    void forget(worker_qp &qp) { changed_.remove(qp); }
    // How many rows it has written. Those that are active still are not reported yet.
    std::size_t write_all(const kernel::mapped_array<mrc_qp_row> &rows);

private:
    linked_list<worker_qp, &worker_qp::unreported> changed_;
};

// Takes turns over all queue pairs: what one shares with its peer's others changes without it.
class idle_reports
{
public:
    void write_some(const kernel::mapped_array<mrc_qp_row> &rows, std::span<const std::unique_ptr<worker_qp>> all);

private:
    std::size_t turn_ = 0;
};

// The agent's rows of `verdicts`.
class verdict_report
{
public:
    // False: it has not been written.
    using writer = std::function<bool(std::uint32_t row, std::uint64_t count)>;

    explicit verdict_report(writer write) : write_{std::move(write)} {}

    // Writes those that changed since; each is a system call.
    void publish(const verdict_counts &counts);
    // But for the packets that went on.
    void publish_drops(const verdict_counts &counts);

private:
    void publish_row(std::uint32_t row, std::uint64_t count);

    writer write_;
    verdict_counts written_{};
};

// The worker's own row.
class worker_report
{
public:
    // Null: there is none.
    explicit worker_report(mrc_worker_row *row) : row_{row} {}

    // On the worker's own thread, before its first round, and under what keeps others from writing.
    void begin();
    // socket_drops: of all its sockets since they are open.
    void write(const worker_counters &counters, std::uint64_t socket_drops, protocol::instant now);

private:
    static constexpr std::chrono::milliseconds look_interval{100}; // at the thread's times, by system calls

    mrc_worker_row *row_; // borrowed
    kernel::thread_times times_;
    protocol::instant next_look_;
};

// All workers' together in the per-CPU array behind the descriptor, which cannot be mapped. No program counts in the
// agent's rows.
class verdict_sums
{
public:
    explicit verdict_sums(int verdicts_fd);

    [[nodiscard]] verdict_report::writer writer_of(unsigned worker)
    {
        return [this, worker](std::uint32_t row, std::uint64_t count) { return write(worker, row, count); };
    }

private:
    bool write(unsigned worker, std::uint32_t row, std::uint64_t count);

    int fd_;
    std::mutex writing_;
    std::array<verdict_counts, MRC_MAX_WORKERS> counts_{};
    std::vector<std::uint64_t> values_; // by CPU
};

} // namespace mrc::datapath
