// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/fabric_plan/command.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "service/address.h"
#include "tools/mrcctl/command_line.h"
#include "tools/mrcctl/fabric_plan/show.h"

namespace mrc::ctl
{

namespace
{

// The pattern of a port's name.
std::string refuse_port_name(const std::string &text)
{
    const bool is_name = !text.empty() && text.find_first_of(" \t/\"'") == std::string::npos;
    return is_name && text.contains("{}") ? "" : "'" + text + "' is no port's name with its number at {}, such as u{}";
}

std::string refuse_next_hop(const std::string &text)
{
    const auto address = service::parse_ip(text);
    return address && !service::is_ipv4(*address) ? "" : "'" + text + "' is no IPv6 address";
}

// As mrcd's units have it.
std::string usual_configuration(const std::string &instance)
{
    const char *const named = std::getenv("MRC_INSTANCE");
    const std::string of = instance.empty() && named != nullptr ? named : instance;
    return of.empty() || of == "default" ? "/etc/mrc/mrcd.toml" : fmt::format("/etc/mrc/{}.toml", of);
}

} // namespace

void add_fabric_show(CLI::App &object, invocation &chosen)
{
    CLI::App *command =
        add_command(object, "show", "The SRv6 plan of a configuration, and what its switches need", chosen);
    const auto wish = std::make_shared<fabric_show_wish>();
    const auto language = std::make_shared<std::string>();
    std::vector<std::string> languages;
    languages.reserve(switch_languages.size());
    for (const auto &[name, which] : switch_languages)
        languages.emplace_back(name);
    command->add_option("SWITCH", wish->name, "This one, such as p0t1-2: plane, tier (0 leaf, 1 spine), number");
    command->add_option("--switch-config", *language, "Print what the switches are configured with, in this LANGUAGE")
        ->check(CLI::IsMember(languages));
    command->add_option("--config", wish->file,
                        "mrcd's configuration FILE; default: /etc/mrc/mrcd.toml, or INSTANCE.toml there");
    command->add_option("--uplink", wish->names.uplink, "NAME of a leaf's port to spine {}")
        ->check(refuse_port_name)
        ->capture_default_str();
    command
        ->add_option("--downlink", wish->names.downlink,
                     "NAME of a leaf's port to downlink {}, and of a spine's to leaf {}")
        ->check(refuse_port_name)
        ->capture_default_str();
    command->add_option("--upper", wish->names.upper, "ADDRESS of each link's end that is further from the hosts")
        ->check(refuse_next_hop)
        ->capture_default_str();
    command->add_option("--lower", wish->names.lower, "ADDRESS of each link's end that is nearer to the hosts")
        ->check(refuse_next_hop)
        ->capture_default_str();
    command->callback([&chosen, wish, language] {
        chosen.local = [&chosen, wish, language] {
            for (const auto &[name, which] : switch_languages)
                if (name == *language)
                    wish->language = which;
            if (wish->file.empty())
                wish->file = usual_configuration(chosen.instance);
            wish->json = chosen.json;
            fmt::print("{}", show_fabric(*wish));
            return 0;
        };
    });
}

} // namespace mrc::ctl
