// SPDX-License-Identifier: Apache-2.0
#include "datapath/live_calls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include <bpf/bpf.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "kernel/monotonic_clock.h"
#include "kernel/startup_error.h"
#include "mrc/abi/maps.h"

namespace mrc::datapath
{

namespace
{

// Of this thread: times that it waited in the kernel. A thread that only lost its processor did not.
long waits_so_far()
{
    rusage used{};
    return ::getrusage(RUSAGE_THREAD, &used) == 0 ? used.ru_nvcsw : 0;
}

} // namespace

live_calls::live_calls(int program_fd, std::uint32_t batch)
    : program_fd_{program_fd}, batch_{batch}, bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}
{
    if (!bell_)
        kernel::fail_startup("cannot create the bell of XDP transmit");
}

live_calls::timed live_calls::call(std::uint32_t frames, bool look, protocol::instant begin) const
{
    static const std::array<std::byte, MRC_PUSH_BLANK_BYTES> blank{};
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = blank.data();
    options.data_size_in = blank.size();
    options.repeat = static_cast<int>(frames);
    options.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
    options.batch_size = std::min(frames, batch_);
    const long waits = look ? waits_so_far() : 0;
    const int result = bpf_prog_test_run_opts(program_fd_, &options);
    return {.error = result == 0 || result == -EINTR ? 0 : -result,
            .took = kernel::monotonic_now() - begin,
            .waited = look && waits_so_far() != waits};
}

int live_calls::make(std::uint32_t frames)
{
    const protocol::instant now = kernel::monotonic_now();
    const timed made = call(frames, slow_.suspicious(now), now);
    if (slow_.on_call(made.took, made.waited, now + made.took)) {
        slowest_.store(made.took, std::memory_order_relaxed);
        must_give_up_ = true;
    }
    return made.error;
}

void live_calls::give_up()
{
    must_give_up_ = false;
    in_use_.store(false, std::memory_order_release);
    [[maybe_unused]] const int rung = ::eventfd_write(bell_.get(), 1);
}

void live_calls::acknowledge() const
{
    eventfd_t rings = 0;
    [[maybe_unused]] const int read = ::eventfd_read(bell_.get(), &rings);
}

// One frame alone would not have the kernel look at the dispatcher.
bool live_calls::try_one()
{
    const timed made = call(2, true, kernel::monotonic_now());
    const bool slow = slow_calls::is_slow(made.took, made.waited);
    if (slow)
        slowest_.store(made.took, std::memory_order_relaxed);
    return made.error == 0 && !slow;
}

} // namespace mrc::datapath
