// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/adopt_commands.h"

#include <memory>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "tools/mrcctl/adoption_line.h"
#include "tools/mrcctl/cgroups.h"
#include "tools/mrcctl/command_line.h"
#include "tools/mrcctl/ordinary_hosts.h"
#include "tools/mrcctl/run_command.h"
#include "tools/table/table.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr const char *bind_help = "bind() to an ordinary address of this host takes its MRC address, too";

constexpr column adoption_columns[] = {
    {"NUMBER", "number"},
    {"BY", "by"},
    {"USER", "uid"},
    {"PROCESS", "pid"},
    {"CONNECTIONS", "connections"},
    {"DATAGRAMS", "datagrams"},
    {"BINDS", "binds"},
    {"SILENT", "silent"},
    {"BOUND", "bound"},
    {"CGROUP", "cgroup"},
};

constexpr column host_columns[] = {
    {"ADDRESS", "address"},
    {"MRC ADDRESS", "mrc_address"},
    {"STATE", "state"},
};

json::object view_of(const session::adoption_reply &adopted)
{
    return {{"number", adopted.number},
            {"by", (adopted.flags & session::adoption_ends_with_me) != 0 ? "run" : "adopt"},
            {"uid", adopted.uid},
            {"pid", adopted.pid},
            {"bind", (adopted.flags & session::adoption_binds) != 0},
            {"connections", adopted.connections},
            {"datagrams", adopted.datagrams},
            {"binds", adopted.binds},
            {"silent", adopted.silent},
            {"bound", adopted.bound},
            {"cgroup_id", adopted.cgroup},
            {"cgroup", adopted.path}};
}

int print(const invocation &chosen, const json::array &rows, std::span<const column> columns)
{
    fmt::print("{}", chosen.json ? json::serialize(rows) + '\n' : to_table(columns, rows));
    return 0;
}

int list_adopted(const invocation &chosen, const adoption_line &daemon)
{
    json::array rows;
    for (const session::adoption_reply &each : daemon.list())
        rows.push_back(view_of(each));
    return print(chosen, rows, adoption_columns);
}

struct adopt_options {
    std::string unit;
    std::string cgroup;
    bool binds = false;
};

int adopt(const invocation &chosen, const adoption_line &daemon, const adopt_options &wish)
{
    const auto folder = wish.unit.empty() ? std::filesystem::path{wish.cgroup} : cgroup_of_unit(wish.unit);
    const session::adoption_reply adopted = daemon.adopt(folder, wish.binds ? session::adoption_binds : 0);
    return print(chosen, {view_of(adopted)}, adoption_columns);
}

void add_list(CLI::App &object, invocation &chosen)
{
    add_command(object, "list", "What is adopted, with the connections that were mapped", chosen)->callback([&chosen] {
        chosen.adopt = [&chosen](const adoption_line &daemon) { return list_adopted(chosen, daemon); };
    });
}

void add_hosts(CLI::App &object, invocation &chosen)
{
    add_command(object, "hosts", "The addresses that are mapped, and whether their hosts answer", chosen)
        ->callback([&chosen] {
            chosen.run = [&chosen](const host_maps &maps) {
                const int status = print(chosen, ordinary_hosts_of(maps), host_columns);
                tell_if_not_running(maps);
                return status;
            };
        });
}

void add_undo(CLI::App &object, invocation &chosen)
{
    CLI::App *const command = add_command(object, "undo", "New connections go as they would without", chosen);
    const auto number = std::make_shared<std::uint32_t>();
    command->add_option("NUMBER", *number, "Of the adoption, as `adopt list` prints it")->required();
    command->callback([&chosen, number] {
        chosen.adopt = [&chosen, number](const adoption_line &daemon) {
            daemon.undo(*number);
            if (chosen.json)
                fmt::print("{}\n", json::serialize(json::object{{"undone", *number}}));
            return 0;
        };
    });
}

} // namespace

void add_run(CLI::App &app, invocation &chosen)
{
    CLI::App *const command =
        add_command(app, "run", "Runs a command whose sockets ride all planes to the hosts of [[sockets]]", chosen);
    const auto arguments = std::make_shared<std::vector<std::string>>();
    const auto binds = std::make_shared<bool>();
    command->add_flag("--bind", *binds, bind_help);
    command->add_option("COMMAND", *arguments, "And its arguments, behind --")->required();
    command->callback([&chosen, arguments, binds] {
        chosen.adopt = [arguments, binds](const adoption_line &daemon) {
            return run_command(daemon, *arguments, *binds);
        };
    });
}

void add_adopt(CLI::App &app, invocation &chosen)
{
    CLI::App *const object =
        add_command(app, "adopt", "Programs that run: their new connections ride all planes", chosen);
    object->require_subcommand(0, 1);
    const auto wish = std::make_shared<adopt_options>();
    CLI::Option *const unit = object->add_option("--unit", wish->unit, "A systemd unit that runs");
    CLI::Option *const cgroup =
        object->add_option("--cgroup", wish->cgroup, "The folder of a cgroup v2")->excludes(unit);
    object->add_flag("--bind", wish->binds, bind_help);
    add_list(*object, chosen);
    add_hosts(*object, chosen);
    add_undo(*object, chosen);
    object->callback([object, unit, cgroup, &chosen, wish] {
        if (!object->get_subcommands().empty())
            return;
        if (unit->count() + cgroup->count() == 0)
            throw CLI::RequiredError{"--unit or --cgroup"};
        chosen.adopt = [&chosen, wish](const adoption_line &daemon) { return adopt(chosen, daemon, *wish); };
    });
}

} // namespace mrc::ctl
