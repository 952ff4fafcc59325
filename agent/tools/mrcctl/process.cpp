// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/process.h"

#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

namespace mrc::ctl
{

namespace
{

constexpr int fields_after_state = 18; // of proc(5): start time is field 22, the state is field 3

double seconds_of(clockid_t clock)
{
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

} // namespace

process_stat parse_stat(std::string_view text)
{
    const auto end_of_name = text.rfind(')'); // the name may contain anything
    if (end_of_name == std::string_view::npos)
        return {};
    std::istringstream fields{std::string{text.substr(end_of_name + 1)}};
    process_stat stat;
    std::string skipped;
    fields >> stat.state;
    for (int i = 0; i < fields_after_state; ++i)
        fields >> skipped;
    fields >> stat.start_ticks;
    return fields ? stat : process_stat{};
}

daemon_process look_at_daemon(const mrc_host_row &host)
{
    daemon_process daemon{.pid = host.pid};
    std::ifstream file{"/proc/" + std::to_string(host.pid) + "/stat"};
    const process_stat stat = parse_stat(std::string{std::istreambuf_iterator<char>{file}, {}});
    if (stat.state == 'X' || stat.state == 'x' || stat.state == 'Z')
        return daemon;
    const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
    const double uptime = seconds_of(CLOCK_MONOTONIC) - static_cast<double>(host.started_ns) * 1e-9;
    const double started = seconds_of(CLOCK_BOOTTIME) - uptime;
    if (static_cast<double>(stat.start_ticks) * tick > started + tick)
        return daemon;
    daemon.alive = true;
    daemon.state = stat.state == 'T' || stat.state == 't' ? "stopped" : "running";
    daemon.uptime_s = uptime;
    return daemon;
}

std::string state_remark(std::string_view instance, const daemon_process &daemon)
{
    if (!daemon.alive)
        return fmt::format("mrcd of instance '{}' (pid {}) has ended; these are its last numbers", instance,
                           daemon.pid);
    if (daemon.state == "stopped")
        return fmt::format("mrcd of instance '{}' (pid {}) is stopped; its numbers stand still", instance, daemon.pid);
    return {};
}

} // namespace mrc::ctl
