// SPDX-License-Identifier: Apache-2.0
#include "datapath/trace_ring.h"

#include "kernel/numbered_row.h"

namespace mrc::datapath
{

// Who finds the lease over ends the trace: its mrcctl was killed.
bool trace_ring::lasts(protocol::instant now)
{
    const std::atomic_ref lease{ring_[0].lease_ns};
    __u64 until = lease.load(std::memory_order_acquire);
    if (until > static_cast<__u64>(now.time_since_epoch().count()))
        return true;
    lease.compare_exchange_strong(until, 0, std::memory_order_acq_rel);
    return false;
}

bool trace_ring::wants(const protocol::trace_event &event) const
{
    const auto load = [](__u32 &word) { return std::atomic_ref{word}.load(std::memory_order_relaxed); };
    const std::uint32_t qpn = load(ring_[0].qpn);
    return (load(ring_[0].kinds) >> static_cast<unsigned>(event.kind) & 1U) != 0 &&
           (qpn == 0 || event.local.value == 0 || event.local.value == qpn);
}

void trace_ring::record(const protocol::trace_event &event)
{
    fire_probe(event);
    if (!is_leased_ || !wants(event))
        return;
    const std::uint64_t number = ++newest_;
    kernel::write_row(rows_[(number - 1) % MRC_TRACE_ROWS],
                      mrc_trace_row{.number = number,
                                    .time_ns = static_cast<__u64>(event.at.time_since_epoch().count()),
                                    .value = event.value,
                                    .qpn = event.local.value,
                                    .peer_qpn = event.peer.value,
                                    .psn = event.sequence.value(),
                                    .ev = event.entropy.value,
                                    .kind = static_cast<__u16>(event.kind),
                                    .reason = static_cast<__u16>(event.reason),
                                    .reserved = 0});
    std::atomic_ref{ring_[0].newest}.store(number, std::memory_order_release);
}

} // namespace mrc::datapath
