// SPDX-License-Identifier: Apache-2.0
// Percentiles of latencies, for reports and as a file to draw from.
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>

namespace mrc::perf
{

// In microseconds, of nanoseconds in ascending order, by the nearest rank; `share` is 0 to 1. 0 where there are none.
[[nodiscard]] double percentile_us(std::span<const std::uint32_t> sorted_ns, double share);

// CSV of `percentile,us`: each whole per cent, then tenfold finer toward 100 for as long as samples can tell, and 100.
[[nodiscard]] std::string percentile_table(std::span<const std::uint32_t> sorted_ns);

// Opened before the run, which would otherwise be for nothing; throws perf_error that says why it cannot be written.
class percentile_file
{
public:
    explicit percentile_file(const std::string &path);
    void write(std::span<const std::uint32_t> sorted_ns);

private:
    std::string path_;
    std::ofstream out_;
};

} // namespace mrc::perf
