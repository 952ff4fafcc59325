// SPDX-License-Identifier: Apache-2.0
#include "kernel/transmit_counter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace mrc::kernel
{

namespace
{

// The figure behind so many others of a line.
std::optional<std::uint64_t> figure_at(std::string_view figures, int before)
{
    constexpr std::string_view blank = " ";
    for (;; --before) {
        figures.remove_prefix(std::min(figures.find_first_not_of(blank), figures.size()));
        const std::string_view word = figures.substr(0, figures.find_first_of(" \n"));
        if (before == 0) {
            std::uint64_t figure = 0;
            const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), figure);
            return error == std::errc{} && !word.empty() ? std::optional{figure} : std::nullopt;
        }
        if (word.empty())
            return std::nullopt;
        figures.remove_prefix(word.size());
    }
}

// `table` is /proc/net/dev: a line for each device, its name, a colon, figures.
std::optional<std::uint64_t> transmitted_in(std::string_view table, std::string_view device)
{
    constexpr int columns_before = 9; // receive has 8, then transmitted bytes
    while (!table.empty()) {
        std::string_view line = table.substr(0, table.find('\n'));
        table.remove_prefix(std::min(line.size() + 1, table.size()));
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (line.size() > device.size() && line.starts_with(device) && line[device.size()] == ':')
            return figure_at(line.substr(device.size() + 1), columns_before);
    }
    return std::nullopt;
}

} // namespace

transmit_counter::transmit_counter(std::string device)
    : device_{std::move(device)}, table_{::open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC)}
{
}

std::optional<std::uint64_t> transmit_counter::read()
{
    text_.clear();
    std::array<char, 4096> part{};
    for (ssize_t got = 0;
         (got = ::pread(table_.get(), part.data(), part.size(), static_cast<off_t>(text_.size()))) > 0;)
        text_.append(part.data(), static_cast<std::size_t>(got));
    return transmitted_in(text_, device_);
}

} // namespace mrc::kernel
