// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/metrics_command.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "kernel/whole_file.h"
#include "tools/mrcctl/command_line.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/exposition.h"
#include "tools/mrcctl/metrics.h"

namespace mrc::ctl
{

namespace
{

// For others to read whenever they like. Another command may be writing it, too: each has a scratch file of its own,
// whose name no collector takes for what it reads.
void put_into(const std::string &file, const std::string &text)
{
    std::error_code none;
    const std::filesystem::file_status there = std::filesystem::symlink_status(file, none);
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
        throw ctl_error{fmt::format("cannot write '{}': it is no regular file; allowed: a new name or a regular file, "
                                    "which is replaced",
                                    file)};
    if (const auto written = kernel::replace_file(file, fmt::format("{}.{}.new", file, ::getpid()), text); !written)
        throw ctl_error{fmt::format("cannot write '{}': {}", file, written.error().message())};
}

} // namespace

void add_metrics(CLI::App &app, invocation &chosen)
{
    CLI::App *command = add_command(app, "metrics", "All of it in numbers for Prometheus", chosen);
    const auto file = std::make_shared<std::string>();
    command->add_option("-o,--output", *file, "Write FILE, in one step, instead of standard output")->type_name("FILE");
    command->callback([&chosen, file] {
        chosen.run = [&chosen, file](const host_maps &maps) {
            const boost::json::array families = metrics_of(maps);
            const std::string text = chosen.json ? boost::json::serialize(families) + '\n' : exposition_of(families);
            if (file->empty())
                fmt::print("{}", text);
            else
                put_into(*file, text);
            return 0;
        };
    });
}

} // namespace mrc::ctl
