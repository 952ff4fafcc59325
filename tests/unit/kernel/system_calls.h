// SPDX-License-Identifier: Apache-2.0
// How many system calls that read or write something the calling thread makes: copies are counted, not timed.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

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

[[nodiscard]] inline system_calls system_calls_so_far()
{
    std::ifstream file{"/proc/thread-self/io"};
    system_calls found;
    for (std::string name; file >> name;) {
        std::uint64_t value = 0;
        file >> value;
        if (name == "syscr:")
            found.reads = value;
        if (name == "syscw:")
            found.writes = value;
    }
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
