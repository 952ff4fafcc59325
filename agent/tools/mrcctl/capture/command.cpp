// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/capture/command.h"

#include <memory>
#include <string>

#include "tools/mrcctl/capture/run.h"
#include "tools/mrcctl/capture/settings.h"

namespace mrc::ctl
{

namespace
{

constexpr std::uint32_t usual_rate = 100'000; // packets a second
constexpr std::uint32_t most_rate = 1'000'000'000;
constexpr std::uint32_t least_snap_bytes = 64;

} // namespace

void add_capture(CLI::App &app, invocation &chosen)
{
    CLI::App *command = add_command(app, "capture", "MRC packets of the ports, into a pcapng file", chosen);
    const auto options = std::make_shared<capture_options>();
    options->filter.rate = usual_rate;
    const auto filter = &options->filter;
    command->add_option("-w,--write", options->file, "Write FILE; -: standard output")->type_name("FILE")->required();
    command->add_option("--qp", filter->qpn, "Of this queue pair of the host only, both ways")->type_name("QPN");
    command
        ->add_option_function<std::string>(
            "--psn", [filter](const std::string &text) { filter->psns = *parse_psns(text); },
            "Whose BTH has one of these PSNs only")
        ->type_name("FIRST[-LAST]")
        ->check(understood_by(parse_psns));
    command->add_option("--plane", filter->plane, "Of this plane's port only")->check(CLI::Range(0, MRC_MAX_PORTS - 1));
    command->add_option("--snaplen", filter->snap_bytes, "At most so many BYTES of each packet")
        ->check(CLI::Range(least_snap_bytes, std::uint32_t{MRC_CAPTURE_SNAP_MAX}))
        ->capture_default_str();
    command
        ->add_option_function<std::string>(
            "--sample", [filter](const std::string &text) { filter->sample = *parse_sample(text); },
            "One packet of N only")
        ->type_name("1/N")
        ->check(understood_by(parse_sample));
    command->add_option("--rate", filter->rate, "At most so many packets a second; 0: all")
        ->check(CLI::Range(0U, most_rate))
        ->capture_default_str();
    command->add_option("-c,--count", options->count, "End after N copies")->check(CLI::PositiveNumber);
    command->add_option("--seconds", options->seconds, "End after so many SECONDS")->check(CLI::Range(0.01, longest_s));
    command->callback([&chosen, options] {
        if (chosen.json)
            throw CLI::ValidationError{"capture", "writes pcapng only; without --json"};
        chosen.run = [options](const host_maps &maps) { return run_capture(maps, *options); };
    });
}

} // namespace mrc::ctl
