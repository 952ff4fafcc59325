// SPDX-License-Identifier: Apache-2.0
#include "kernel/sigbus_guard.h"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
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

std::uintptr_t page_of(const std::byte *at)
{
    return reinterpret_cast<std::uintptr_t>(at) / 4096;
}

void touch(const std::byte *at)
{
    (void)*static_cast<const volatile std::byte *>(at);
}

// Runs `copy`, which touches bytes of `mapping`. It holds nothing but its parameters across the jump, so nothing can be
// lost in it; nor may `copy` hold anything.
template <typename Copy>
[[gnu::noinline]] bool guarded(std::span<const std::byte> mapping, Copy copy) noexcept
{
    if (sigsetjmp(recovery.environment, 0) != 0) // 0: no signal mask, hence no system call
        return false;
    recovery.begin = mapping.data();
    recovery.end = mapping.data() + mapping.size();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    copy();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    recovery.begin = recovery.end = nullptr;
    return true;
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

bool guarded_write(std::span<std::byte> mapping, std::size_t offset, std::span<const std::byte> from) noexcept
{
    std::byte *to = mapping.data() + offset;
    return guarded(mapping, [to, from] {
        if (from.empty())
            return;
        touch(to);
        if (page_of(to) != page_of(to + from.size() - 1))
            touch(to + from.size() - 1);
        std::memcpy(to, from.data(), from.size());
    });
}

bool guarded_read(std::span<const std::byte> mapping, std::size_t offset, std::span<std::byte> to) noexcept
{
    const std::byte *from = mapping.data() + offset;
    return guarded(mapping, [to, from] { std::memcpy(to.data(), from, to.size()); });
}

} // namespace mrc::kernel
