// SPDX-License-Identifier: Apache-2.0
#include "datapath/round_turns.h"

#include <algorithm>
#include <ctime>

#include <poll.h>
#include <sys/eventfd.h>

#include "kernel/startup_error.h"

namespace mrc::datapath
{

using namespace std::chrono_literals;

namespace
{

// What a program has under way that polls no more waits this long at most, the shorter the less it had polled; a
// program that polls all the time pays a look for each of the longer ones.
constexpr std::chrono::microseconds first_pause = 200us;
constexpr std::chrono::microseconds longest_pause = 1600us;

} // namespace

round_turns::round_turns() : bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}
{
    if (!bell_)
        kernel::fail_startup("cannot create a bell of the worker's thread");
}

bool round_turns::try_keep()
{
    std::uint32_t found = nobody;
    return !has_candidates() && keeper_.compare_exchange_strong(found, own);
}

void round_turns::stop_keeping()
{
    unwanted_.store(false);
    keeper_.store(nobody);
    note_change();
}

void round_turns::stand_aside()
{
    aside_.store(true);
    auto pause = first_pause;
    while (!summoned_.load()) {
        const std::uint64_t before = visits_.load();
        wait_for_bell(pause);
        if (visits_.load() != before) {
            pause = std::min(2 * pause, longest_pause);
            continue;
        }
        if (keeper_.load() == nobody)
            break;
        // A guest has slept all the while. Its leave sees this, or this look sees that it has left.
        rings_.store(true);
        if (keeper_.load() != nobody && !summoned_.load())
            wait_for_bell(std::nullopt);
        rings_.store(false);
        pause = first_pause;
    }
    aside_.store(false);
    summoned_.store(false);
}

void round_turns::summon()
{
    summoned_.store(true);
    if (aside_.load())
        ring();
}

bool round_turns::send_aside()
{
    return keeper_.load(std::memory_order_relaxed) == own && followers_.load(std::memory_order_relaxed) == 0 &&
           !unwanted_.load(std::memory_order_relaxed) && !unwanted_.exchange(true);
}

void round_turns::leave_keeping()
{
    keeper_.store(nobody);
    if (candidates_.load() != 0)
        note_change();
    if (followers_.load() != 0)
        summon();
    else if (rings_.load())
        ring();
}

void round_turns::add_follower()
{
    followers_.fetch_add(1);
    note_change();
    if (keeper_.load() == nobody)
        summon();
}

void round_turns::note_change()
{
    changes_.fetch_add(1);
    changes_.notify_all();
}

void round_turns::dismiss_guests()
{
    admits_guests_.store(false);
    note_change();
    summon();
}

void round_turns::wait_for_bell(std::optional<std::chrono::microseconds> most) const
{
    pollfd rung{.fd = bell_.get(), .events = POLLIN, .revents = 0};
    const std::int64_t ns = most ? std::chrono::nanoseconds{*most}.count() : 0;
    const timespec limit{.tv_sec = 0, .tv_nsec = ns};
    eventfd_t count = 0;
    if (::ppoll(&rung, 1, most ? &limit : nullptr, nullptr) == 1)
        ::eventfd_read(bell_.get(), &count);
}

void round_turns::ring() const
{
    ::eventfd_write(bell_.get(), 1);
}

} // namespace mrc::datapath
