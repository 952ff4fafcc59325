// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/trace/lease.h"

#include <atomic>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace mrc::ctl
{

// Without kinds nothing is written: so not before all of the filter stands.
trace_lease::trace_lease(mrc_trace_ring &ring, const trace_filter &filter, timed_lease::clock now,
                         const timed_lease::pause &wait)
    : lease_{ring.lease_ns,
             [&ring] {
                 return fmt::format("process {} traces already; allowed: one trace of an mrcd at a time", ring.owner);
             },
             std::move(now), wait}
{
    std::atomic_ref{ring.kinds}.store(0, std::memory_order_release);
    std::atomic_ref{ring.owner}.store(static_cast<__u32>(::getpid()), std::memory_order_release);
    std::atomic_ref{ring.qpn}.store(filter.qpn, std::memory_order_release);
    std::atomic_ref{ring.kinds}.store(filter.kinds, std::memory_order_release);
}

} // namespace mrc::ctl
