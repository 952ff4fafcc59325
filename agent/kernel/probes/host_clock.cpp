// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/host_clock.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <limits>
#include <sstream>

namespace mrc::kernel::probes
{

namespace
{

constexpr int readings = 20'000;

std::int64_t now_ns()
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

std::string line_of(const std::string &name)
{
    std::string line;
    std::getline(std::ifstream{"/sys/devices/system/clocksource/clocksource0/" + name} >> std::ws, line);
    return line;
}

std::string without(const std::string &names, const std::string &one)
{
    std::istringstream all{names};
    std::string rest;
    for (std::string name; all >> name;)
        if (name != one)
            rest += (rest.empty() ? "" : " ") + name;
    return rest;
}

} // namespace

clock_figures read_clock()
{
    clock_figures figures;
    figures.step_ns = std::numeric_limits<double>::max();
    const std::int64_t begin = now_ns();
    std::int64_t last = begin;
    for (int i = 0; i < readings; ++i) {
        const std::int64_t now = now_ns();
        if (now != last)
            figures.step_ns = std::min(figures.step_ns, static_cast<double>(now - last));
        last = now;
    }
    figures.cost_ns = static_cast<double>(last - begin) / readings;
    figures.source = line_of("current_clocksource");
    figures.other_sources = without(line_of("available_clocksource"), figures.source);
    return figures;
}

} // namespace mrc::kernel::probes
