// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/capture/lease.h"

#include <atomic>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace mrc::ctl
{

namespace
{

__u64 load(__u64 &word)
{
    return std::atomic_ref{word}.load(std::memory_order_acquire);
}

[[noreturn]] void refuse(const mrc_capture_ring &ring)
{
    throw capture_taken{
        fmt::format("process {} captures already; allowed: one capture of an mrcd at a time", ring.owner)};
}

} // namespace

capture_lease::capture_lease(mrc_capture_ring &ring, const mrc_capture_ring &settings, clock now, const pause &wait)
    : ring_{ring}, settings_{settings}, now_{std::move(now)}
{
    __u64 found = load(ring_.lease_ns);
    while (found > now_()) {
        wait();
        if (const __u64 later = load(ring_.lease_ns); later > found)
            refuse(ring_);
    }
    // A program that found it over may have taken it away meanwhile.
    if (found = load(ring_.lease_ns); found > now_() || !claim(found))
        refuse(ring_);
    start();
}

capture_lease::~capture_lease()
{
    std::atomic_ref{ring_.lease_ns}.compare_exchange_strong(until_ns_, 0, std::memory_order_acq_rel);
}

bool capture_lease::claim(__u64 found)
{
    const __u64 until_ns = now_() + lease_ns;
    if (!std::atomic_ref{ring_.lease_ns}.compare_exchange_strong(found, until_ns, std::memory_order_acq_rel) &&
        !(found == 0 &&
          std::atomic_ref{ring_.lease_ns}.compare_exchange_strong(found, until_ns, std::memory_order_acq_rel)))
        return false;
    until_ns_ = until_ns;
    return true;
}

// Without planes nothing is copied: so not before all of the settings stand.
void capture_lease::start()
{
    std::atomic_ref{ring_.planes}.store(0, std::memory_order_release);
    ring_.owner = static_cast<__u32>(::getpid());
    ring_.interval_ns = settings_.interval_ns;
    ring_.sample = settings_.sample;
    ring_.snap_bytes = settings_.snap_bytes;
    ring_.qpn = settings_.qpn;
    ring_.peer_qpn = settings_.peer_qpn;
    ring_.psn_first = settings_.psn_first;
    ring_.psn_count = settings_.psn_count;
    std::atomic_ref{ring_.consumer}.store(load(ring_.producer), std::memory_order_release); // of a capture before
    std::atomic_ref{ring_.planes}.store(settings_.planes, std::memory_order_release);
}

void capture_lease::renew()
{
    if (until_ns_ > now_() + lease_ns - renewal_ns)
        return;
    const __u64 before = until_ns_;
    const bool is_over = before <= now_();
    if (!claim(before))
        refuse(ring_);
    lapses_ += is_over ? 1 : 0;
}

} // namespace mrc::ctl
