// SPDX-License-Identifier: Apache-2.0
// The worker's trace events: rows of the map `trace_rows` while an mrcctl has the lease in `trace_ring`, and USDT
// probes while somebody is attached to one of them (trace_probes.h). Without either, a look in each round of the worker
// is what it costs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "datapath/trace_probes.h"
#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"
#include "protocol/trace_sink.h"

namespace mrc::datapath
{

// Of one worker. Several write into the same rows.
class trace_ring final : public protocol::trace_sink
{
public:
    // Maps the rows behind these descriptors. Throws startup_error.
    trace_ring(int ring_fd, int rows_fd)
        : trace_ring{{ring_fd, 1, "trace_ring"}, {rows_fd, MRC_TRACE_ROWS, "trace_rows"}}
    {
    }
    trace_ring(kernel::mapped_array<mrc_trace_ring> ring, kernel::mapped_array<mrc_trace_row> rows)
        : shared_{std::make_shared<shared_rows>(std::move(ring), std::move(rows))}
    {
    }
    // Another worker's, before either is used.
    explicit trace_ring(const trace_ring *first) : shared_{first->shared_} { ++shared_->writers; }

    // At the beginning of each round, with its time: what is asked for then holds until the next.
    void look(protocol::instant now)
    {
        kinds_ =
            std::atomic_ref{shared_->ring[0].lease_ns}.load(std::memory_order_relaxed) != 0 ? kinds_asked_for(now) : 0;
        has_probes_ = probes_attached();
        set(kinds_ != 0 || has_probes_, now);
    }
    void record(const protocol::trace_event &event) override;

private:
    struct shared_rows {
        shared_rows(kernel::mapped_array<mrc_trace_ring> of, kernel::mapped_array<mrc_trace_row> those)
            : ring{std::move(of)}, rows{std::move(those)}
        {
        }

        kernel::mapped_array<mrc_trace_ring> ring;
        kernel::mapped_array<mrc_trace_row> rows;
        unsigned writers = 1;
        std::mutex writing; // where there are several
        std::uint64_t newest = 0;
    };

    [[nodiscard]] std::uint32_t kinds_asked_for(protocol::instant now);
    [[nodiscard]] bool wants(const protocol::trace_event &event) const;

    std::shared_ptr<shared_rows> shared_;
    std::uint32_t kinds_ = 0; // bit k: trace_kind k
    std::uint32_t qpn_ = 0;   // 0: all queue pairs
    bool has_probes_ = false;
};

} // namespace mrc::datapath
