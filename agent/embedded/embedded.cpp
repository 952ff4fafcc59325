// SPDX-License-Identifier: Apache-2.0
// libmrc-embedded.so: the daemon inside a program. It is the same daemon, with the same socket, maps and tools, but
// that it leaves the program's signals, user and capabilities alone, and that threads of the program may make the
// worker's rounds.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "kernel/monotonic_clock.h"
#include "service/config/config.h"
#include "service/daemon.h"
#include "service/log.h"
#include "session/embedded_worker.h"

namespace
{

using namespace std::chrono_literals;

// At the program's exit: longer than this, and it ends without the daemon's taking its leave.
constexpr auto exit_patience = 2s;

// The one of this process. Never destroyed: threads of the program may be in it when the program ends.
struct embedding {
    std::mutex starting;
    pid_t owner = 0;
    std::string instance;
    std::string socket;
    mrc::session::embedded_worker calls{};

    std::unique_ptr<mrc::service::daemon> daemon;
    std::thread service;
    std::atomic<bool> ended = false; // the daemon is about to go, or gone
    std::atomic<int> guests = 0;     // threads that use it
    std::binary_semaphore gone{0};
    std::chrono::milliseconds drain{};
};

embedding &here()
{
    static auto *const only = new embedding;
    return *only;
}

// Keeps the daemon there, if it is.
class visit
{
public:
    visit()
    {
        here().guests.fetch_add(1);
        there_ = !here().ended.load();
    }
    visit(const visit &) = delete;
    visit &operator=(const visit &) = delete;
    ~visit() { here().guests.fetch_sub(1); }
    explicit operator bool() const { return there_; }

private:
    bool there_;
};

bool make_round(mrc::session::round_for what) noexcept
{
    const visit guest;
    return guest && here().daemon->worker().round_as_guest(what);
}

mrc::protocol::instant end_of(const timespec *limit)
{
    if (limit == nullptr)
        return mrc::protocol::never;
    return mrc::kernel::monotonic_now() + std::chrono::seconds{limit->tv_sec} +
           std::chrono::nanoseconds{limit->tv_nsec};
}

int poll_events(pollfd *descriptors, nfds_t count, const timespec *limit) noexcept
{
    if (const visit guest; guest) {
        mrc::datapath::worker &worker = here().daemon->worker();
        const auto ready = worker.poll_as_guest({descriptors, count}, end_of(limit));
        if (ready && (*ready >= 0 || !here().ended))
            return *ready;
        worker.turns_of_threads().add_follower();
    }
    const int ready = ::ppoll(descriptors, count, limit, nullptr);
    const int error = errno;
    if (const visit guest; guest)
        here().daemon->worker().turns_of_threads().remove_follower();
    errno = error;
    return ready;
}

void hand_over() noexcept
{
    if (const visit guest; guest)
        here().daemon->worker().turns_of_threads().summon();
}

void serve()
{
    try {
        here().daemon->run();
    } catch (const std::exception &error) {
        mrc::service::log::error("the daemon inside this program ends: {}", error.what());
    }
    here().ended = true;
    here().daemon->worker().dismiss_guests();
    const auto until = std::chrono::steady_clock::now() + exit_patience;
    while (here().guests.load() != 0 && std::chrono::steady_clock::now() < until)
        std::this_thread::yield();
    if (here().guests.load() == 0) // else the program ended a thread in the middle of a round
        here().daemon.reset();
    here().gone.release();
}

void take_leave()
{
    if (here().owner != ::getpid() || !here().service.joinable())
        return; // a child of a fork has no thread to end
    here().daemon->end();
    if (here().gone.try_acquire_for(here().drain + 2 * exit_patience))
        here().service.join();
    else
        here().service.detach();
}

// Signals are the program's own threads'. Faults are of whoever caused them: see sigbus_guard.h.
class signals_blocked
{
public:
    signals_blocked()
    {
        sigset_t all;
        ::sigfillset(&all);
        for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL})
            ::sigdelset(&all, fault);
        ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    signals_blocked(const signals_blocked &) = delete;
    signals_blocked &operator=(const signals_blocked &) = delete;
    ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

// A client may close its end of a pipe while one of the program's threads makes the round that writes to it.
void ignore_broken_pipes()
{
    struct sigaction now{};
    if (::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
        ::signal(SIGPIPE, SIG_IGN);
}

// Empty, or why not.
std::string start(const std::string &file)
{
    auto config = mrc::service::load_config(file);
    if (!config)
        return config.error().text();
    // A program's standard error is its own: what is usual goes unsaid.
    if (config->daemon.level == mrc::service::log_level::info)
        config->daemon.level = mrc::service::log_level::warning;
    mrc::service::log::set_level(config->daemon.level);
    embedding &all = here();
    all.instance = config->daemon.instance;
    all.socket = config->daemon.socket;
    all.drain = std::chrono::milliseconds{config->daemon.drain_ms};
    ignore_broken_pipes();
    const signals_blocked none;
    try {
        all.daemon = std::make_unique<mrc::service::daemon>(*std::move(config), mrc::service::daemon_place::program);
        all.service = std::thread{serve};
    } catch (const std::exception &error) {
        all.daemon.reset();
        return error.what();
    }
    all.owner = ::getpid();
    all.calls = {.version = MRC_VERSION,
                 .instance = all.instance.c_str(),
                 .socket = all.socket.c_str(),
                 .round = make_round,
                 .poll = poll_events,
                 .hand_over = hand_over};
    std::atexit(take_leave);
    return {};
}

} // namespace

extern "C" [[gnu::visibility("default")]] const mrc::session::embedded_worker *
mrc_embedded_start(const char *configuration, char *error, std::size_t error_bytes)
{
    const std::scoped_lock one{here().starting};
    if (here().daemon || here().ended)
        return &here().calls;
    if (const std::string problem = start(configuration); !problem.empty()) {
        std::snprintf(error, error_bytes, "%s", problem.c_str());
        return nullptr;
    }
    return &here().calls;
}
