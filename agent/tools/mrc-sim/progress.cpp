// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-sim/progress.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace mrc::tools
{

namespace
{

constexpr int bar_width = 30;
constexpr std::chrono::milliseconds quiet_start{1000};
constexpr std::chrono::milliseconds bar_interval{100};
constexpr std::chrono::milliseconds line_interval{5000};

} // namespace

sim_progress::sim_progress(std::string name, bool quiet)
    : name_{std::move(name)}, quiet_{quiet}, terminal_{isatty(STDERR_FILENO) == 1},
      shown_at_{clock::now() + quiet_start - (terminal_ ? bar_interval : line_interval)}
{
}

sim_progress::~sim_progress()
{
    if (drawn_ && terminal_)
        std::fputs("\r\x1b[K", stderr);
}

void sim_progress::show(const std::string &label, double share)
{
    if (quiet_ || clock::now() - shown_at_ < (terminal_ ? bar_interval : line_interval))
        return;
    shown_at_ = clock::now();
    drawn_ = true;
    const int percent = static_cast<int>(share * 100);
    const std::string what = label.empty() ? name_ : name_ + ": " + label;
    if (!terminal_) {
        fmt::print(stderr, "{} {} %\n", what, percent);
        return;
    }
    const int filled = std::clamp(static_cast<int>(share * bar_width), 0, bar_width);
    fmt::print(stderr, "\r\x1b[K[{:#<{}}{:.<{}}] {:3} % {}", "", filled, "", bar_width - filled, percent, what);
}

} // namespace mrc::tools
