// SPDX-License-Identifier: Apache-2.0
// Threads that poll give their core to whoever waits for it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>

#include <sched.h>

#include "kernel/monotonic_clock.h"
#include "protocol/types.h"

namespace mrc::kernel
{

// Where cores are few, what a poll waits for may need this very one: whoever has that little to do gives it back within
// microseconds. One that computes or polls itself keeps it for a time slice, milliseconds; then giving way is dear, and
// is left where it takes more than a hundredth of the time, but for ten milliseconds now and then. A thread that sleeps
// instead preempts such neighbours when it wakes (EEVDF, sched(7)). Threads may share one.
class giving_way
{
public:
    static constexpr std::chrono::microseconds dear{250};
    static constexpr unsigned times_as_long = 100;
    static constexpr std::chrono::milliseconds at_once{10};
    static constexpr std::chrono::seconds longest{10}; // that it is left, whatever it took

    // False: nothing was done, it is dear. The clock is what `now` was read from.
    bool try_now(protocol::instant now, protocol::instant (*clock)() = monotonic_now)
    {
        if (paid_off_.load(std::memory_order_relaxed) - now > at_once * times_as_long)
            return false;
        ::sched_yield();
        note(now, clock());
        return true;
    }

    // For those who cannot sleep until what they wait for has come: where it is dear they sleep for an instant, some
    // 50 us with the timer slack that threads have.
    void now_or_sleep()
    {
        static constexpr timespec instant{.tv_sec = 0, .tv_nsec = 1000};
        if (!try_now(monotonic_now()))
            ::nanosleep(&instant, nullptr);
    }

private:
    void note(protocol::instant before, protocol::instant after)
    {
        const std::chrono::nanoseconds took = after - before;
        if (took < dear)
            return;
        const auto paid_off = std::max(paid_off_.load(std::memory_order_relaxed), after) + took * times_as_long;
        paid_off_.store(std::min(paid_off, after + at_once * times_as_long + longest), std::memory_order_relaxed);
    }

    std::atomic<protocol::instant> paid_off_{}; // when what was lost is that share of the time
};

} // namespace mrc::kernel
