// SPDX-License-Identifier: Apache-2.0
#include "client/port_events.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/boundary.h"

namespace mrc::client
{

namespace
{

void watch(int epoll, int fd, std::uint32_t events)
{
    epoll_event wanted{.events = events, .data = {.fd = fd}};
    if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted) != 0)
        throw std::system_error{errno, std::generic_category(), "epoll_ctl"};
}

} // namespace

port_events::port_events(std::shared_ptr<daemon_channel> daemon, std::vector<host_port> known)
    : daemon_{std::move(daemon)}, epoll_{::epoll_create1(EPOLL_CLOEXEC)},
      waiting_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, known_{std::move(known)}
{
    try {
        if (epoll_ < 0 || waiting_ < 0)
            throw std::system_error{errno, std::generic_category(), "epoll_create1"};
        watch(epoll_, waiting_, EPOLLIN);
        watch(epoll_, daemon_->event_fd(), EPOLLIN | EPOLLET);
    } catch (...) {
        ::close(epoll_);
        ::close(waiting_);
        throw;
    }
}

port_events::~port_events()
{
    ::close(epoll_);
    ::close(waiting_);
}

std::optional<host_event> port_events::next()
{
    const std::lock_guard lock{mutex_};
    look();
    if (queue_.empty())
        return std::nullopt;
    const host_event first = queue_.front();
    queue_.pop_front();
    eventfd_t count = 0;
    if (queue_.empty())
        (void)::eventfd_read(waiting_, &count);
    return first;
}

result<void> port_events::wait() const
{
    if ((::fcntl(epoll_, F_GETFL) & O_NONBLOCK) != 0)
        return refused(EAGAIN, "no event waits");
    pollfd readable{.fd = epoll_, .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, -1) < 0)
        return refused(errno, "interrupted");
    return {};
}

void port_events::add_source(int descriptor)
{
    watch(epoll_, descriptor, EPOLLIN);
}

void port_events::remove_source(int descriptor)
{
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
}

void port_events::look()
{
    std::array<epoll_event, 3> ready{}; // the daemon's, waiting_, and a source
    const int count = ::epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), 0);
    const auto until = ready.begin() + std::max(count, 0);
    const bool edge =
        std::any_of(ready.begin(), until, [&](const epoll_event &each) { return each.data.fd == daemon_->event_fd(); });
    if (!edge || gone_reported_)
        return;
    daemon_->clear_events();
    if (const auto now = daemon_->describe()) {
        for (std::size_t i = 0; i < std::min(known_.size(), now->ports.size()); ++i)
            if (known_[i].up != now->ports[i].up)
                push({now->ports[i].up ? host_event::kind::port_up : host_event::kind::port_down,
                      static_cast<int>(i) + 1});
        known_ = now->ports;
    }
    if (daemon_->gone()) {
        push({host_event::kind::daemon_gone});
        gone_reported_ = true;
    }
}

void port_events::push(host_event event)
{
    queue_.push_back(event);
    (void)::eventfd_write(waiting_, 1);
}

} // namespace mrc::client
