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
#include "tools/http/endpoint.h"
#include "tools/mrcctl/command_line.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/exposition.h"
#include "tools/mrcctl/metrics.h"
#include "tools/mrcctl/metrics_server.h"

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

std::string rendered(const host_maps &maps, bool json)
{
    const boost::json::array families = metrics_of(maps);
    return json ? boost::json::serialize(families) + '\n' : exposition_of(families);
}

int print_metrics(const host_maps &maps, bool json, const std::string &file)
{
    const std::string text = rendered(maps, json);
    if (file.empty())
        fmt::print("{}", text);
    else
        put_into(file, text);
    return 0;
}

void tell_address(const boost::asio::ip::tcp::endpoint &at)
{
    fmt::print(stderr, "mrcctl: metrics at http://{}/metrics\n", tools::http::to_text(at));
}

} // namespace

void add_metrics(CLI::App &app, invocation &chosen)
{
    CLI::App *command = add_command(app, "metrics", "All of it in numbers for Prometheus", chosen);
    const auto file = std::make_shared<std::string>();
    const auto listen = std::make_shared<std::string>();
    CLI::Option *output =
        command->add_option("-o,--output", *file, "Write FILE, in one step, instead of standard output")
            ->type_name("FILE");
    command
        ->add_option("--listen", *listen,
                     "Serve GET /metrics at [ADDR:]PORT, of the loopback without ADDR, until SIGTERM")
        ->type_name("[ADDR:]PORT")
        ->check(understood_by(tools::http::parse_endpoint))
        ->excludes(output);
    command->callback([&chosen, file, listen] {
        if (listen->empty()) {
            chosen.run = [&chosen, file](const host_maps &maps) { return print_metrics(maps, chosen.json, *file); };
            return;
        }
        if (chosen.json)
            throw CLI::ExcludesError{"--listen", "--json"};
        chosen.serve = [listen](const map_opener &open) {
            serve_metrics(
                *tools::http::parse_endpoint(*listen), [&open] { return rendered(open(), false); }, &tell_address);
            return 0;
        };
    });
}

} // namespace mrc::ctl
