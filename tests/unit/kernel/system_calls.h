// SPDX-License-Identifier: Apache-2.0
// How many system calls that read or write something the calling thread makes: copies are counted, not timed.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>

#include <fcntl.h>

#include "kernel/unique_fd.h"

namespace mrc::test
{

struct system_calls {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    friend system_calls operator-(const system_calls &a, const system_calls &b)
    {
        return {a.reads - b.reads, a.writes - b.writes};
    }
};

// By one read, which shows up in the next ones.
[[nodiscard]] inline system_calls system_calls_so_far()
{
    const kernel::unique_fd file{::open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC)};
    std::array<char, 512> text{};
    system_calls found;
    if (::read(file.get(), text.data(), text.size() - 1) > 0)
        (void)!std::sscanf(text.data(), "rchar: %*u wchar: %*u syscr: %lu syscw: %lu", &found.reads, &found.writes);
    return found;
}

// Of `body` alone: what it takes to read the counters is counted once more, and taken off.
template <typename Body>
[[nodiscard]] system_calls system_calls_of(Body body)
{
    const system_calls first = system_calls_so_far();
    const system_calls second = system_calls_so_far();
    body();
    return system_calls_so_far() - second - (second - first);
}

} // namespace mrc::test
