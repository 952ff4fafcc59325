// SPDX-License-Identifier: Apache-2.0
// Map `events`, written by one thread, and of drops by the programs that drop (bpf/drops.h), and read by any number of
// processes, none of which the writers know or wait for (numbered_row.h).
//
// An array and no BPF_MAP_TYPE_RINGBUF: a ring buffer's records are consumed, by one reader for all; where nobody
// reads, the oldest stay and what comes finds no room; and user space writes one only by running a program for each.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/mapped_array.h"
#include "kernel/numbered_row.h"
#include "kernel/shared_word.h"
#include "mrc/abi/maps.h"

namespace mrc::kernel
{

[[nodiscard]] constexpr mrc_event_class class_of(mrc_event_kind kind)
{
    if (kind <= MRC_EVENT_PORT_OUT_OF_USE)
        return MRC_EVENTS_OF_PORTS;
    if (kind <= MRC_EVENT_PLANE_OUT_OF_USE)
        return MRC_EVENTS_OF_PLANES;
    if (kind <= MRC_EVENT_PEER_SILENT)
        return MRC_EVENTS_OF_PEERS;
    if (kind <= MRC_EVENT_LINK_DEAD)
        return MRC_EVENTS_OF_LINKS;
    if (kind <= MRC_EVENT_DROPS_BEGIN)
        return MRC_EVENTS_OF_DROPS;
    if (kind <= MRC_EVENT_PATH_DENIED)
        return MRC_EVENTS_OF_PATHS;
    return kind <= MRC_EVENT_SESSION_CLOSED ? MRC_EVENTS_OF_SESSIONS : MRC_EVENTS_OF_QUEUE_PAIRS;
}

// The row as it was at one moment; nothing while it is being written, and of one that has not been used.
[[nodiscard]] inline std::optional<mrc_event_row> read_event(const mrc_event_row &row)
{
    return read_row(row);
}

// The number of the last event, whose row and all before it are written; 0: there was none.
[[nodiscard]] inline std::uint64_t last_event(const mrc_host_row &host)
{
    return shared_word(host.events, std::memory_order_acquire);
}

// The same of drops; rows of the latest may still be written.
[[nodiscard]] inline std::uint64_t last_drop_event(const mrc_host_row &host)
{
    return shared_word(host.drop_events, std::memory_order_acquire);
}

// Events of drops in the order of their numbers. One thread.
class drop_reader
{
public:
    // Those that are new since the last call, of `newest` (last_drop_event()), but for what is still being written: the
    // next call has it. `row_at` gives a row of `events`.
    template <typename RowAt>
    [[nodiscard]] std::vector<mrc_event_row> take(std::uint64_t newest, const RowAt &row_at)
    {
        std::vector<mrc_event_row> events;
        const bool is_first = !std::exchange(has_looked_, true); // what came before is not missed
        const std::uint64_t oldest = newest - std::min<std::uint64_t>(newest, MRC_EVENT_ROWS);
        missed_ += is_first || oldest <= last_ ? 0 : oldest - last_;
        for (last_ = std::max(last_, oldest); last_ < newest; ++last_) {
            const std::optional<mrc_event_row> event = read_event(row_at(first_row + last_ % MRC_EVENT_ROWS));
            if (!event || event->number <= last_)
                break;
            if (event->number == last_ + 1)
                events.push_back(*event);
            else
                ++missed_;
        }
        return events;
    }
    // Events that others had taken the place of before take() came to them.
    [[nodiscard]] std::uint64_t missed() const { return missed_; }

private:
    static constexpr std::uint64_t first_row = std::uint64_t{MRC_EVENTS_OF_DROPS} * MRC_EVENT_ROWS;

    std::uint64_t last_ = 0; // number
    bool has_looked_ = false;
    std::uint64_t missed_ = 0;
};

// The agent's writer, of all but drops. Borrows the rows and the host's; one thread.
class event_history
{
public:
    event_history(mapped_array<mrc_event_row> &rows, mrc_host_row &host) : rows_{rows}, host_{host} {}

    // In the place of its class's oldest. The number is given here, and the wall clock's time.
    void add(mrc_event_row event, std::chrono::system_clock::time_point told)
    {
        const mrc_event_class of = class_of(event.kind);
        mrc_event_row &row = rows_[of * std::size_t{MRC_EVENT_ROWS} + counts_[of]++ % MRC_EVENT_ROWS];
        event.number = ++last_;
        event.real_time_ns = static_cast<__u64>(std::chrono::nanoseconds{told.time_since_epoch()}.count());
        write_row(row, event);
        std::atomic_ref{host_.events}.store(last_, std::memory_order_release);
    }

private:
    mapped_array<mrc_event_row> &rows_;
    mrc_host_row &host_;
    std::array<std::size_t, MRC_EVENT_CLASSES> counts_{};
    std::uint64_t last_ = 0;
};

} // namespace mrc::kernel
