// SPDX-License-Identifier: Apache-2.0
// What the worker shows to operators: rows of the mmaped maps, and the agent's rows of `verdicts`. Written at times,
// never per packet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "datapath/worker_client.h"
#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"
#include "protocol/paths/path_group.h"

namespace mrc::datapath
{

using verdict_counts = std::array<std::uint64_t, MRC_VERDICT_COUNT>;

void write_row(mrc_qp_row &row, const worker_qp &qp);
void write_rows(const kernel::mapped_array<mrc_path_row> &rows, const protocol::path_group &group);
void write_state(const kernel::mapped_array<mrc_path_row> &rows, protocol::path_index path, protocol::path_state state);

// Takes turns over the queue pairs that have nothing to do: what they share with their peer's others changes, too.
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

// Writes into the per-CPU array behind the descriptor, which cannot be mapped. No program counts in the agent's rows.
[[nodiscard]] verdict_report::writer per_cpu_writer(int verdicts_fd);

} // namespace mrc::datapath
