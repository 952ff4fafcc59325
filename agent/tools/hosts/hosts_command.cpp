// SPDX-License-Identifier: Apache-2.0
#include "tools/hosts/hosts_command.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "service/address.h"
#include "session/host_names.h"
#include "tools/hosts/block.h"
#include "tools/hosts/lookup.h"
#include "tools/mrcctl/command_line.h"
#include "tools/mrcctl/daemon_sockets.h"
#include "tools/mrcctl/error.h"
#include "tools/setup/identity.h"
#include "tools/table/table.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr column name_columns[] = {{"NAME", "name"}, {"ADDRESS", "address"}, {"KNOWN BY", "known_by"}};

struct hosts_options {
    std::string write_to;
    std::string remove_from;
};

// A name in a configuration of an address that setup gives out was told by a hello.
std::string how_known(const session::named_host &host)
{
    const auto address = service::parse_ip(host.address);
    return host.known_by == "configuration" && address && setup::is_of_setup(*address) ? "setup" : host.known_by;
}

json::array view_of(const std::vector<session::named_host> &hosts)
{
    json::array rows;
    for (const session::named_host &host : hosts)
        rows.push_back(json::object{{"name", host.name}, {"address", host.address}, {"known_by", how_known(host)}});
    return rows;
}

int change_file(const std::string &instance, const hosts_options &options)
{
    const auto lines = options.write_to.empty()
                           ? tools::remove_block(options.remove_from, instance)
                           : tools::write_block(options.write_to, instance, session::known_hosts(instance));
    for (const std::string &line : lines)
        fmt::print(stderr, "{}\n", line);
    return 0;
}

int list_names(const std::string &instance, bool as_json)
{
    const std::vector<session::named_host> hosts = session::known_hosts(instance);
    if (const auto running = running_instances();
        hosts.empty() && std::ranges::find(running, instance) == running.end())
        refuse_silent(instance, {});
    const json::array view = view_of(hosts);
    if (as_json)
        fmt::print("{}\n", json::serialize(view));
    else
        fmt::print("{}", hosts.empty() ? "no peer has a name\n" : to_table(name_columns, view));
    return 0;
}

} // namespace

void add_hosts_command(CLI::App &app, invocation &chosen)
{
    CLI::App *const command =
        add_command(app, "hosts", "The names of peers, their addresses and how they are known", chosen);
    const auto options = std::make_shared<hosts_options>();
    CLI::Option *const write = command->add_option("--write", options->write_to,
                                                   "Keep a block with them in this hosts FILE, such as /etc/hosts");
    command->add_option("--remove", options->remove_from, "Take the block out of FILE, which is as it was then")
        ->excludes(write);
    command->callback([&chosen, options] {
        chosen.local = [&chosen, options] {
            const std::string instance = one_instance(chosen.instance);
            return options->write_to.empty() && options->remove_from.empty() ? list_names(instance, chosen.json)
                                                                             : change_file(instance, *options);
        };
    });
}

} // namespace mrc::ctl
