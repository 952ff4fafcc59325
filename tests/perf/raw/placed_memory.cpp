// SPDX-License-Identifier: Apache-2.0
#include "raw/placed_memory.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include <bpf/libbpf.h>

namespace mrc::raw
{

namespace
{

template <typename Word>
Word load(Word &word)
{
    return std::atomic_ref<Word>{word}.load(std::memory_order_acquire);
}

} // namespace

placed_memory::placed_memory(const bpf_map *region, const bpf_map *marks, const bpf_map *session, std::size_t ports)
    : region_{bpf_map__fd(region), 1, "raw_region"}, marks_{bpf_map__fd(marks), MRC_MAX_PORTS, "raw_marks"},
      session_{bpf_map__fd(session), 1, "raw_session"}, ports_{ports}
{
}

void placed_memory::begin(std::uint32_t run, std::uint64_t report_after)
{
    raw_session &session = session_[0];
    std::atomic_ref{session.report_after}.store(
        static_cast<std::uint32_t>(std::max<std::uint64_t>(report_after / ports_, 1)));
    std::atomic_ref{session.run}.store(run, std::memory_order_release);
    seen_ = {};
}

const raw_mark *placed_memory::mark_of_run(std::size_t port) const
{
    raw_mark &mark = marks_[port];
    return load(mark.run) == session_[0].run ? &mark : nullptr;
}

void placed_memory::add_to(run_totals &totals) const
{
    for (std::size_t port = 0; port < ports_; ++port) {
        const raw_mark *const mark = mark_of_run(port);
        if (mark == nullptr || mark->packets == 0)
            continue;
        totals.packets += mark->packets;
        totals.placed += mark->packets;
        totals.bytes += mark->bytes;
        totals.behind = std::max<std::uint64_t>(totals.behind, mark->behind);
        totals.first_ns =
            totals.first_ns == 0 ? mark->first_ns : std::min<std::uint64_t>(totals.first_ns, mark->first_ns);
        totals.last_ns = std::max<std::uint64_t>(totals.last_ns, mark->last_ns);
    }
}

std::uint64_t placed_memory::refused() const
{
    std::uint64_t sum = 0;
    for (std::size_t port = 0; port < ports_; ++port)
        sum = std::accumulate(std::begin(marks_[port].refused), std::end(marks_[port].refused), sum);
    return sum;
}

std::optional<placed_memory::message> placed_memory::look()
{
    for (std::size_t port = 0; port < ports_; ++port) {
        raw_mark &mark = marks_[port];
        const std::uint64_t latest = load(mark.latest);
        if (latest == seen_[port] || latest == 0 || load(mark.run) != session_[0].run)
            continue;
        seen_[port] = latest;
        const std::uint32_t offset = std::min(mark.offset, RAW_REGION_BYTES);
        const std::uint32_t bytes = std::min(mark.payload_bytes, RAW_LONGEST_PAYLOAD);
        return message{.number = latest - 1,
                       .path = static_cast<std::uint8_t>(port),
                       .payload = std::as_bytes(std::span{region_[0].bytes}).subspan(offset, bytes)};
    }
    return std::nullopt;
}

} // namespace mrc::raw
