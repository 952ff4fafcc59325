// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/signals.h"

#include <csignal>

#include <sys/signalfd.h>

#include "tools/mrc-perf/error.h"

namespace mrc::perf
{

signal_source::signal_source()
{
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGUSR1})
        ::sigaddset(&set, number);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_)
        throw perf_error{"the kernel has no signalfd"};
}

std::optional<int> signal_source::take()
{
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info))
        return std::nullopt;
    return static_cast<int>(info.ssi_signo);
}

} // namespace mrc::perf
