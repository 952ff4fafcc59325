// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/command.h"

#include <memory>

#include "tools/mrcctl/command_line.h"
#include "tools/mrcctl/diagnose/collect.h"
#include "tools/mrcctl/diagnose/diagnosis.h"
#include "tools/mrcctl/diagnose/report.h"

namespace mrc::ctl
{

namespace
{

constexpr double least_s = 0.2;
constexpr double most_s = 60;

int print_diagnosis(const host_maps &maps, const diagnose::watch_options &options, bool json)
{
    const diagnose::snapshot seen = diagnose::watch(maps, options);
    const auto report = diagnose::report_view(maps.of().name, seen, diagnose::findings_of(seen));
    fmt::print("{}", json ? boost::json::serialize(report) + '\n' : diagnose::report_text(report));
    return report.at("healthy").as_bool() ? 0 : 1;
}

} // namespace

void add_diagnose(CLI::App &app, invocation &chosen)
{
    CLI::App *const command = add_command(
        app, "diagnose", "What is at fault: a port, a link, a switch, a peer, or load; and what to do", chosen);
    const auto options = std::make_shared<diagnose::watch_options>();
    command->add_option("PEER", options->peer,
                        "MRC address of the host to look toward; default: those of queue pairs, else all known");
    command->add_option("--seconds", options->seconds, "Watch and probe for so many SECONDS")
        ->check(CLI::Range(least_s, most_s))
        ->capture_default_str();
    command->callback([&chosen, options] {
        chosen.run = [&chosen, options](const host_maps &maps) { return print_diagnosis(maps, *options, chosen.json); };
    });
}

} // namespace mrc::ctl
