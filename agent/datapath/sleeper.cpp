// SPDX-License-Identifier: Apache-2.0
#include "datapath/sleeper.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <ranges>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "kernel/monotonic_clock.h"
#include "kernel/startup_error.h"

namespace mrc::datapath
{

using namespace std::chrono_literals;
using protocol::instant;

namespace
{

constexpr auto longest_sleep = 100ms;

timespec until(instant deadline)
{
    const instant now = kernel::monotonic_now();
    const std::chrono::nanoseconds wait = std::clamp<instant>(deadline, now, now + longest_sleep) - now;
    return {.tv_sec = 0, .tv_nsec = wait.count()};
}

} // namespace

sleeper::sleeper()
    : waited_for_{::epoll_create1(EPOLL_CLOEXEC)}, service_bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      alarm_{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)},
      status_fd_{::memfd_create("mrc-worker-status", MFD_CLOEXEC | MFD_ALLOW_SEALING)}
{
    if (!waited_for_ || !service_bell_ || !status_fd_ || !alarm_ || !hear(service_bell_) || !hear(alarm_) ||
        ::ftruncate(status_fd_.get(), sizeof(session::worker_status)) != 0)
        kernel::fail_startup("cannot create the worker's bells");
    void *page =
        ::mmap(nullptr, sizeof(session::worker_status), PROT_READ | PROT_WRITE, MAP_SHARED, status_fd_.get(), 0);
    if (page == MAP_FAILED)
        kernel::fail_startup("cannot map the worker's status page");
    status_ = kernel::mapping{page, sizeof(session::worker_status)};
    ::fcntl(status_fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
}

bool sleeper::hear(const kernel::unique_fd &doorbell) const
{
    epoll_event how{.events = EPOLLIN | EPOLLET, .data = {}};
    return ::epoll_ctl(waited_for_.get(), EPOLL_CTL_ADD, doorbell.get(), &how) == 0;
}

void sleeper::stop_hearing(const kernel::unique_fd &doorbell) const
{
    ::epoll_ctl(waited_for_.get(), EPOLL_CTL_DEL, doorbell.get(), nullptr);
}

void sleeper::wake() const
{
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(service_bell_.get(), &one, sizeof(one)); // nobody reads it
}

void sleeper::wake_by(instant due)
{
    if (due >= wakes_at_)
        return;
    wakes_at_ = due;
    const std::chrono::nanoseconds at = std::max(due.time_since_epoch(), std::chrono::nanoseconds{1}); // 0 disarms
    const itimerspec once{.it_interval = {},
                          .it_value = {.tv_sec = at.count() / 1'000'000'000, .tv_nsec = at.count() % 1'000'000'000}};
    ::timerfd_settime(alarm_.get(), TFD_TIMER_ABSTIME, &once, nullptr);
}

// As long as one has packets, no sleep begins.
void sleeper::add_source(int fd)
{
    epoll_event how{.events = EPOLLIN, .data = {}};
    if (::epoll_ctl(waited_for_.get(), EPOLL_CTL_ADD, fd, &how) == 0)
        sources_.push_back(fd);
}

void sleeper::forget_sources()
{
    for (const int fd : sources_)
        ::epoll_ctl(waited_for_.get(), EPOLL_CTL_DEL, fd, nullptr);
    sources_.clear();
}

// Bells are edge-triggered: each write is told once, and nothing need be read. More than fit wait for the next sleep's
// end.
sleep_end sleeper::wait(instant deadline) const
{
    std::array<epoll_event, 64> told{};
    const timespec limit = until(deadline);
    const int count = ::epoll_pwait2(waited_for_.get(), told.data(), static_cast<int>(told.size()), &limit, nullptr);
    if (count < 0)
        return sleep_end::interrupted;
    return count > 0 ? sleep_end::woken : sleep_end::timed_out;
}

sleep_end sleeper::wait(instant deadline, std::span<pollfd> own) const
{
    std::vector<pollfd> all{{.fd = waited_for_.get(), .events = POLLIN, .revents = 0}};
    all.insert(all.end(), own.begin(), own.end());
    const timespec limit = until(deadline);
    const int count = ::ppoll(all.data(), all.size(), &limit, nullptr);
    if (count < 0)
        return sleep_end::interrupted;
    std::ranges::copy(all | std::views::drop(1), own.begin());
    const bool rung = all.front().revents != 0;
    if (rung) // takes what is told once
        (void)wait(instant{});
    if (count > (rung ? 1 : 0))
        return sleep_end::ready;
    return rung ? sleep_end::woken : sleep_end::timed_out;
}

} // namespace mrc::datapath
