// SPDX-License-Identifier: Apache-2.0
#include "datapath/trace_ring.h"

#include "kernel/trace_rows.h"

namespace mrc::datapath
{

// Who finds the lease over ends the trace: its mrcctl was killed.
std::uint32_t trace_ring::kinds_asked_for(protocol::instant now)
{
    const std::atomic_ref lease{shared_->ring[0].lease_ns};
    __u64 until = lease.load(std::memory_order_acquire);
    if (until <= static_cast<__u64>(now.time_since_epoch().count())) {
        lease.compare_exchange_strong(until, 0, std::memory_order_acq_rel);
        return 0;
    }
    const std::uint32_t kinds = std::atomic_ref{shared_->ring[0].kinds}.load(std::memory_order_acquire);
    qpn_ = std::atomic_ref{shared_->ring[0].qpn}.load(std::memory_order_relaxed); // it is written before the kinds
    return kinds;
}

bool trace_ring::wants(const protocol::trace_event &event) const
{
    return (kinds_ >> static_cast<unsigned>(event.kind) & 1U) != 0 &&
           (qpn_ == 0 || event.local.value == 0 || event.local.value == qpn_);
}

void trace_ring::record(const protocol::trace_event &event)
{
    if (has_probes_) [[unlikely]]
        fire_probe(event);
    if (!wants(event))
        return;
    shared_rows &to = *shared_;
    const auto alone = to.writers > 1 ? std::unique_lock{to.writing} : std::unique_lock<std::mutex>{};
    const std::uint64_t number = ++to.newest;
    kernel::write_traced(to.ring[0], to.rows[kernel::trace_place(number)], number,
                         kernel::trace_words(static_cast<__u64>(event.at.time_since_epoch().count()), event.value,
                                             event.local.value, static_cast<__u8>(event.kind), event.peer.value,
                                             static_cast<__u8>(event.reason), event.sequence.value(),
                                             event.entropy.value));
}

} // namespace mrc::datapath
