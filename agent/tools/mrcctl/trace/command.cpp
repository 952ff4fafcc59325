// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/trace/command.h"

#include <memory>
#include <string>
#include <vector>

#include "protocol/trace_event.h"
#include "tools/mrcctl/trace/merge_command.h"
#include "tools/mrcctl/trace/run.h"

namespace mrc::ctl
{

namespace
{

constexpr int recordings_to_merge = 2;

std::vector<std::string> kinds_to_name()
{
    return {protocol::trace_kind_names.begin() + 1, protocol::trace_kind_names.end()};
}

std::uint32_t mask_of(const std::vector<std::string> &kinds)
{
    std::uint32_t mask = 0;
    for (const std::string &kind : kinds)
        mask |= 1U << (std::ranges::find(protocol::trace_kind_names, kind) - protocol::trace_kind_names.begin());
    return mask;
}

struct trace_command {
    trace_filter filter;
    std::vector<std::string> kinds;
    trace_output output;
    trace_end end;
    std::vector<std::string> recordings;
};

} // namespace

void add_trace(CLI::App &app, invocation &chosen)
{
    CLI::App *command = add_command(
        app, "trace", "What queue pairs do, packet by packet: sends, answers, losses and why, timers, paths", chosen);
    const auto wanted = std::make_shared<trace_command>();
    command->add_option("--qp", wanted->filter.qpn, "Of this queue pair only, and what happens to paths")
        ->type_name("QPN")
        ->check(CLI::Range(1U, std::uint32_t{MRC_QPN_MASK}));
    command->add_option("--kind", wanted->kinds, "Of these kinds only")
        ->type_name("KIND,...")
        ->delimiter(',')
        ->check(CLI::IsMember(kinds_to_name()));
    CLI::Option *seconds = command->add_option("--seconds", wanted->end.seconds, "End after so many SECONDS")
                               ->check(CLI::Range(0.01, longest_s));
    CLI::Option *count =
        command->add_option("-c,--count", wanted->end.count, "End after N events")->check(CLI::PositiveNumber);
    command->add_option("-w,--write", wanted->output.file, "Write FILE at the end, for Perfetto or chrome://tracing")
        ->type_name("FILE");
    command->add_option("--merge", wanted->recordings, "One time line of what two hosts printed with --json")
        ->type_name("A B")
        ->expected(recordings_to_merge)
        ->excludes(seconds)
        ->excludes(count);
    command->callback([&chosen, wanted] {
        if (!wanted->kinds.empty())
            wanted->filter.kinds = mask_of(wanted->kinds);
        wanted->output.json = chosen.json;
        if (!wanted->recordings.empty())
            chosen.local = [wanted] {
                return merge_files(wanted->recordings[0], wanted->recordings[1], wanted->filter, wanted->output);
            };
        else
            chosen.run = [wanted](const host_maps &maps) {
                return run_trace(maps, wanted->filter, wanted->end, wanted->output);
            };
    });
}

} // namespace mrc::ctl
