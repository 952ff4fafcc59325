// SPDX-License-Identifier: Apache-2.0
#include "kernel/thread_times.h"

#include <array>
#include <charconv>

#include <fcntl.h>
#include <unistd.h>

namespace mrc::kernel
{

void thread_times::open()
{
    file_ = unique_fd{::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)};
}

std::optional<thread_times::times> thread_times::read() const
{
    std::array<char, 64> text{};
    // No pread: what counts the worker's calls takes these for copies of programs' memory.
    if (!file_ || ::lseek(file_.get(), 0, SEEK_SET) != 0)
        return std::nullopt;
    const ssize_t length = ::read(file_.get(), text.data(), text.size());
    if (length <= 0)
        return std::nullopt;
    const char *const end = text.data() + length;
    times found;
    const auto ran = std::from_chars(text.data(), end, found.ran_ns);
    if (ran.ec != std::errc{} || ran.ptr == end || *ran.ptr != ' ')
        return std::nullopt;
    const auto waited = std::from_chars(ran.ptr + 1, end, found.waited_ns);
    return waited.ec == std::errc{} ? std::optional{found} : std::nullopt;
}

} // namespace mrc::kernel
