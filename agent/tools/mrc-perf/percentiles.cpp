// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/percentiles.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "tools/mrc-perf/error.h"

namespace mrc::perf
{

double percentile_us(std::span<const std::uint32_t> sorted_ns, double share)
{
    if (sorted_ns.empty())
        return 0;
    const auto rank = static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted_ns.size() - 1)));
    return static_cast<double>(sorted_ns[rank]) / 1000.0;
}

std::string percentile_table(std::span<const std::uint32_t> sorted_ns)
{
    std::string text = "percentile,us\n";
    const auto add = [&](double percent) {
        fmt::format_to(std::back_inserter(text), "{:.10g},{:.3f}\n", percent, percentile_us(sorted_ns, percent / 100));
    };
    for (int percent = 0; percent < 100; ++percent)
        add(percent);
    // Nine steps within the last 1 %, within its last tenth, and so on.
    for (double rest = 1; static_cast<double>(sorted_ns.size()) * rest >= 1000; rest /= 10)
        for (int step = 1; step <= 9; ++step)
            add(100 - rest + step * rest / 10);
    add(100);
    return text;
}

percentile_file::percentile_file(const std::string &path) : path_{path}, out_{path}
{
    if (!out_)
        throw perf_error{fmt::format("--percentiles: cannot write '{}': {}", path, std::strerror(errno))};
}

void percentile_file::write(std::span<const std::uint32_t> sorted_ns)
{
    out_ << percentile_table(sorted_ns) << std::flush;
    if (!out_)
        throw perf_error{fmt::format("--percentiles: cannot write '{}': {}", path_, std::strerror(errno))};
}

} // namespace mrc::perf
