// SPDX-License-Identifier: Apache-2.0
// For how long a thread has had a processor, and for how long it waited for one: /proc/TID/schedstat (Linux,
// Documentation/scheduler/sched-stats.rst). Two system calls for each look.
#pragma once

#include <cstdint>
#include <optional>

#include "kernel/unique_fd.h"

namespace mrc::kernel
{

class thread_times
{
public:
    // Of the thread that calls it. Where the kernel does not tell, there is nothing to read.
    void open();

    struct times {
        std::uint64_t ran_ns = 0;
        std::uint64_t waited_ns = 0; // ready to run
    };
    // From any thread, one at a time.
    [[nodiscard]] std::optional<times> read() const;

private:
    unique_fd file_;
};

} // namespace mrc::kernel
