// SPDX-License-Identifier: Apache-2.0
#include "service/ports/link_watch.h"

#include <array>
#include <csignal>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include "kernel/startup_error.h"

namespace mrc::service
{

link_watch::link_watch(int readable, std::function<void()> on_readable)
    : readable_{readable}, on_readable_{std::move(on_readable)}, stop_{::eventfd(0, EFD_CLOEXEC)}
{
}

link_watch::~link_watch()
{
    if (!thread_.joinable())
        return;
    [[maybe_unused]] const int written = ::eventfd_write(stop_.get(), 1);
    thread_.join();
}

void link_watch::start()
{
    if (!stop_)
        kernel::fail_startup("cannot create the bell that ends the thread of the links");
    thread_ = std::thread{[this] {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr); // signals are the service thread's
        ::pthread_setname_np(::pthread_self(), "mrc-links");
        run();
    }};
}

void link_watch::run() const
{
    std::array<pollfd, 2> waiting{pollfd{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = readable_, .events = POLLIN, .revents = 0}};
    while (waiting[0].revents == 0) {
        if (::poll(waiting.data(), waiting.size(), -1) < 0)
            continue; // EINTR; ENOMEM passes
        if (waiting[1].revents != 0)
            on_readable_();
    }
}

} // namespace mrc::service
