// SPDX-License-Identifier: Apache-2.0
// BPF_PROG_TEST_RUN of host_push with live frames, timed. The worker makes the calls, until they turn out to wait; then
// it leaves them to the service thread, which tries when they no longer do.
#pragma once

#include <atomic>
#include <cstdint>

#include "datapath/slow_calls.h"
#include "kernel/unique_fd.h"
#include "protocol/types.h"

namespace mrc::datapath
{

class live_calls
{
public:
    // `program_fd`: host_push, borrowed. `batch`: frames between which the receivers run, 1…256. Throws startup_error.
    live_calls(int program_fd, std::uint32_t batch);

    // The worker's. Runs the program on so many frames, 1…256. 0, or errno.
    [[nodiscard]] int make(std::uint32_t frames);
    // Calls have begun to wait: give_up() is due, once host_push has nothing to send.
    [[nodiscard]] bool must_give_up() const { return must_give_up_; }
    void give_up();
    // Whether the worker may make calls now.
    [[nodiscard]] bool in_use() const { return in_use_.load(std::memory_order_acquire); }

    // The service thread's. Readable once the worker has given the calls up; then acknowledge().
    [[nodiscard]] int bell_fd() const { return bell_.get(); }
    void acknowledge() const;
    // What the last slow call took.
    [[nodiscard]] protocol::duration slowest() const { return slowest_.load(std::memory_order_relaxed); }
    // Makes a call, which finds nothing to send, while the worker makes none. False when it waited for the dispatcher,
    // or failed.
    [[nodiscard]] bool try_one();
    void give_back() { in_use_.store(true, std::memory_order_release); }

private:
    struct timed {
        int error = 0;
        protocol::duration took{};
        bool waited = false;
    };
    [[nodiscard]] timed call(std::uint32_t frames, bool look, protocol::instant begin) const;

    int program_fd_;
    std::uint32_t batch_;
    slow_calls slow_;
    std::atomic<protocol::duration> slowest_{protocol::duration{}};
    bool must_give_up_ = false;
    std::atomic<bool> in_use_ = true;
    kernel::unique_fd bell_;
};

} // namespace mrc::datapath
