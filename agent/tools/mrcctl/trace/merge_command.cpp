// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/trace/merge_command.h"

#include <array>
#include <cstdio>
#include <vector>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "options/read.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/json_text.h"
#include "tools/mrcctl/trace/chrome_trace.h"
#include "tools/mrcctl/trace/time_line.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

recording read_recording(const std::string &name)
{
    const auto text = options::read_file(name);
    if (!text)
        throw ctl_error{text.error().text()};
    return parse_recording(*text, name);
}

void tell_clocks(const recording &first, const recording &second, const clock_difference &clocks)
{
    if (clocks.is_known())
        fmt::print(stderr,
                   "mrcctl: the clock of {} is {:.1f} us ahead of that of {}, by {} packets there and {} back; they "
                   "took {:.1f} us there and back at least\n",
                   second.from.name(), static_cast<double>(clocks.second_ahead_ns) / 1e3, first.from.name(),
                   clocks.there, clocks.back, static_cast<double>(clocks.round_trip_ns) / 1e3);
    else
        fmt::print(stderr,
                   "mrcctl: no packets are in both recordings in both directions ({} there, {} back): their clocks are "
                   "taken to be right\n",
                   clocks.there, clocks.back);
}

// Whether all of it is there.
bool tell_gaps(const recording &of)
{
    if (of.lost != 0)
        fmt::print(stderr, "mrcctl: {} events of {} are not in its recording\n", of.lost, of.from.name());
    if (!of.is_whole)
        fmt::print(stderr, "mrcctl: the recording of {} ends early: mrcctl was killed\n", of.from.name());
    return of.is_whole;
}

void print_merged(const recording &of, const timed_row &each, std::int64_t begin_ns, bool as_json)
{
    const traced_row &row = of.rows[each.row];
    text_buffer line;
    const fmt::appender end{line};
    if (as_json) {
        fmt::format_to(end, "{{");
        add_row_fields(line, row, of.from);
        fmt::format_to(end, ",\"host\":{},\"merged_ns\":{}}}\n", json::serialize(json_text(of.from.name())),
                       each.at_ns);
    } else {
        fmt::format_to(end, "{:13.3f} us  {}  ", static_cast<double>(each.at_ns - begin_ns) / 1e3, of.from.name());
        add_words(line, row);
        line.push_back('\n');
    }
    (void)std::fwrite(line.data(), 1, line.size(), stdout); // what fails shows when it is flushed
}

} // namespace

int merge_files(const std::string &first, const std::string &second, const trace_filter &filter,
                const trace_output &output)
{
    const std::array<recording, 2> both{read_recording(first), read_recording(second)};
    const std::vector<seen_twice> there = match_packets(both[0], both[1]);
    const std::vector<seen_twice> back = match_packets(both[1], both[0]);
    const clock_difference clocks = compare_clocks(both[0], both[1], there, back);
    tell_clocks(both[0], both[1], clocks);
    const bool first_is_whole = tell_gaps(both[0]);
    const bool second_is_whole = tell_gaps(both[1]);
    const std::vector<timed_row> line = time_line(both, clocks.second_ahead_ns, filter);
    if (!output.file.empty())
        write_chrome_trace(output.file, both, line, clocks.second_ahead_ns,
                           std::array<packets_of, 2>{{{.packets = there, .from = 0}, {.packets = back, .from = 1}}});
    if (output.file.empty() || output.json)
        for (const timed_row &each : line)
            print_merged(both[each.of], each, line.front().at_ns, output.json);
    if (std::fflush(stdout) != 0)
        throw ctl_error{"cannot write to standard output"};
    return first_is_whole && second_is_whole ? 0 : 1;
}

} // namespace mrc::ctl
