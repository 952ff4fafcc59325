// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/progress.h"

#include <chrono>
#include <iterator>
#include <string>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "tools/mrc-perf/channel.h"

namespace mrc::perf
{

namespace
{

void print_json(const boost::json::object &line)
{
    fmt::print(stderr, "{}\n", boost::json::serialize(line));
}

std::string plane_text(const boost::json::object &sample)
{
    std::string text;
    const auto *planes = sample.if_contains("plane_rx_packets");
    if (planes != nullptr && planes->is_array())
        for (const auto &packets : planes->get_array())
            fmt::format_to(std::back_inserter(text), "{:>7}", packets.to_number<std::uint64_t>());
    return text;
}

double real_member(const boost::json::object &sample, const char *name)
{
    boost::json::error_code error;
    const auto *found = sample.if_contains(name);
    const double value = found != nullptr ? found->to_number<double>(error) : 0;
    return error ? 0 : value;
}

} // namespace

progress_lines::progress_lines(const test_plan &plan, bool as_json)
    : plan_{plan}, json_{as_json}, on_terminal_{::isatty(STDERR_FILENO) != 0}
{
}

void progress_lines::start()
{
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    if (json_ && plan_.interval_ms != 0)
        print_json({{"event", "start"},
                    {"monotonic_ns", std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()},
                    {"file_bytes", plan_.file_bytes}});
}

void progress_lines::show(const boost::json::object &sample, const traffic &sender)
{
    boost::json::object line = sample;
    line["event"] = "interval";
    line["retransmits"] = sender.retransmits;
    line["paths_good"] = sender.paths_good;
    line["paths_skip"] = sender.paths_skip;
    line["paths_kept"] = sender.paths_kept;
    line["paths_assumed_bad"] = sender.paths_assumed_bad;
    line["paths_denied"] = sender.paths_denied;
    samples_.push_back(line);
    if (json_) {
        print_json(line);
        return;
    }
    std::string done;
    if (plan_.file_bytes != 0)
        done = fmt::format(" {:5.1f} %", 100 * real_member(sample, "bytes") / static_cast<double>(plan_.file_bytes));
    fmt::print(stderr, "{}{:8.2f} s{} {:8.3f} Gbit/s  packets per plane{}  sent again {}  EVs {} of {}{}",
               on_terminal_ ? "\r" : "", real_member(sample, "t_ms") / 1e3, done, real_member(sample, "goodput_gbps"),
               plane_text(sample), sender.retransmits, sender.paths_in_use(), sender.paths(),
               on_terminal_ ? "\033[K" : "\n");
}

} // namespace mrc::perf
