// SPDX-License-Identifier: Apache-2.0
#include "kernel/sigbus_guard.h"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>

namespace mrc::kernel
{

namespace
{

// Where this thread goes on when a fault hits [begin, end). Only the thread itself and its own handler touch it, so
// compiler fences are all the ordering needed. Constant initialisation: the handler may not run a constructor.
struct recovery_point {
    const std::byte *begin = nullptr;
    const std::byte *end = nullptr;
    sigjmp_buf environment{};
};
constinit thread_local recovery_point recovery;

struct sigaction previous_action; // written before the handler can run, read in it

// Async-signal-safe: reads the thread's own variables, then jumps, or calls sigaction and raise (both on POSIX's list).
void on_sigbus(int signal, siginfo_t *info, void * /*context*/)
{
    const auto *at = static_cast<const std::byte *>(info->si_addr);
    const bool by_fault = info->si_code > 0; // else sent by a process, and si_addr means nothing
    if (by_fault && recovery.begin <= at && at < recovery.end) {
        recovery.begin = recovery.end = nullptr;
        // Leaves memcpy in the middle: it holds no resource and has no destructor to run. The signal mask needs no
        // restoring, the handler runs with it unchanged (SA_NODEFER, empty sa_mask).
        ::siglongjmp(recovery.environment, 1);
    }
    ::sigaction(signal, &previous_action, nullptr);
    if (!by_fault) // a fault comes back by itself when its instruction runs again
        ::raise(signal);
}

} // namespace

void install_sigbus_guard()
{
    [[maybe_unused]] static const bool installed = [] {
        struct sigaction action{};
        action.sa_sigaction = on_sigbus;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        ::sigemptyset(&action.sa_mask);
        ::sigaction(SIGBUS, nullptr, &previous_action);
        return ::sigaction(SIGBUS, &action, nullptr) == 0;
    }();
}

// Holds nothing but its parameters across the jump, so nothing can be lost in it.
[[gnu::noinline]] bool guarded_copy(std::span<const std::byte> mapping, void *to, const void *from,
                                    std::size_t bytes) noexcept
{
    if (sigsetjmp(recovery.environment, 0) != 0) // 0: no signal mask, hence no system call
        return false;
    recovery.begin = mapping.data();
    recovery.end = mapping.data() + mapping.size();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::memcpy(to, from, bytes);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    recovery.begin = recovery.end = nullptr;
    return true;
}

} // namespace mrc::kernel
