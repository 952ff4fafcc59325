// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/capture/lease.h"

#include <atomic>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace mrc::ctl
{

// Without planes nothing is copied: so not before all of the settings stand.
capture_lease::capture_lease(mrc_capture_ring &ring, const mrc_capture_ring &settings, timed_lease::clock now,
                             const timed_lease::pause &wait)
    : lease_{ring.lease_ns,
             [&ring] {
                 return fmt::format("process {} captures already; allowed: one capture of an mrcd at a time",
                                    ring.owner);
             },
             std::move(now), wait}
{
    std::atomic_ref{ring.planes}.store(0, std::memory_order_release);
    ring.owner = static_cast<__u32>(::getpid());
    ring.interval_ns = settings.interval_ns;
    ring.sample = settings.sample;
    ring.snap_bytes = settings.snap_bytes;
    ring.qpn = settings.qpn;
    ring.peer_qpn = settings.peer_qpn;
    ring.psn_first = settings.psn_first;
    ring.psn_count = settings.psn_count;
    const __u64 claimed = std::atomic_ref{ring.producer}.load(std::memory_order_acquire); // by a capture before
    std::atomic_ref{ring.consumer}.store(claimed, std::memory_order_release);
    std::atomic_ref{ring.planes}.store(settings.planes, std::memory_order_release);
}

} // namespace mrc::ctl
