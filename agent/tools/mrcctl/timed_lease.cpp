// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/timed_lease.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "kernel/monotonic_clock.h"

namespace mrc::ctl
{

namespace
{

constexpr std::chrono::milliseconds between_claims{10};

__u64 load_moment(__u64 &word)
{
    return std::atomic_ref{word}.load(std::memory_order_acquire);
}

} // namespace

timed_lease::timed_lease(__u64 &until, complaint taken, clock now, const pause &wait)
    : until_{until}, taken_{std::move(taken)}, now_{std::move(now)}
{
    __u64 found = load_moment(until_);
    while (found > now_()) {
        wait();
        if (const __u64 later = load_moment(until_); later > found)
            refuse();
    }
    // A program that found it over may have taken it away meanwhile.
    if (found = load_moment(until_); found > now_() || !claim(found))
        refuse();
}

timed_lease::~timed_lease()
{
    std::atomic_ref{until_}.compare_exchange_strong(until_ns_, 0, std::memory_order_acq_rel);
}

bool timed_lease::claim(__u64 found)
{
    const __u64 until_ns = now_() + lease_ns;
    if (!std::atomic_ref{until_}.compare_exchange_strong(found, until_ns, std::memory_order_acq_rel) &&
        !(found == 0 && std::atomic_ref{until_}.compare_exchange_strong(found, until_ns, std::memory_order_acq_rel)))
        return false;
    until_ns_ = until_ns;
    return true;
}

void timed_lease::refuse() const
{
    throw lease_taken{taken_()};
}

void timed_lease::renew()
{
    if (until_ns_ > now_() + lease_ns - renewal_ns)
        return;
    const __u64 before = until_ns_;
    const bool is_over = before <= now_();
    if (!claim(before))
        refuse();
    lapses_ += is_over ? 1 : 0;
}

std::uint64_t lease_clock()
{
    return static_cast<std::uint64_t>(kernel::monotonic_now().time_since_epoch().count());
}

void lease_pause()
{
    std::this_thread::sleep_for(between_claims);
}

} // namespace mrc::ctl
