// SPDX-License-Identifier: Apache-2.0
// `list`, `show`, `online`, `offline` and `delete`, which every kind of profile has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include "tools/mrcctl/command_line.h"
#include "tools/mrcctl/control_text.h"
#include "tools/mrcctl/profiles.h"

namespace mrc::ctl
{

using profile_id = std::shared_ptr<std::uint64_t>;

inline profile_id add_id(CLI::App *command)
{
    auto id = std::make_shared<std::uint64_t>();
    command->add_option("ID", *id, "Its number")->required();
    return id;
}

template <typename Kind>
boost::json::object state_view(const controller_device &device, const Kind &kind, std::uint64_t id)
{
    return {{"id", id}, {"state", boost::json::string{name_of(profile_state_names, state_of(device, kind, id))}}};
}

template <typename Kind>
void add_step(CLI::App &object, invocation &chosen, const Kind &kind, const char *name, const char *does,
              mrc_ctl_profile_state state)
{
    CLI::App *const command = add_command(object, name, does, chosen);
    const profile_id id = add_id(command);
    control_with(
        command, chosen,
        [&kind, id, state](const controller_device &device) {
            go_to(device, kind, *id, state);
            return outcome_of<boost::json::object>{.view = state_view(device, kind, *id)};
        },
        [&kind](const boost::json::object &view) { return state_text(kind.name, view); });
}

template <typename Kind>
void add_life_cycle(CLI::App &object, invocation &chosen, const Kind &kind)
{
    add_step(object, chosen, kind, "online", "From OFFLINE to ONLINE: ready for use", MRC_CTL_PROFILE_ONLINE);
    add_step(object, chosen, kind, "offline", "From ONLINE to OFFLINE: to be changed", MRC_CTL_PROFILE_OFFLINE);
    add_step(object, chosen, kind, "delete", "From OFFLINE to INIT: forgotten", MRC_CTL_PROFILE_INIT);
}

// all(device), one(device, id) and their texts.
template <typename All, typename SayAll, typename One, typename SayOne>
void add_views(CLI::App &object, invocation &chosen, All all, SayAll say_all, One one, SayOne say_one)
{
    control_with(
        add_command(object, "list", "All that are not INIT", chosen), chosen,
        [all](const controller_device &device) { return outcome_of<boost::json::array>{.view = all(device)}; },
        say_all);
    CLI::App *const show = add_command(object, "show", "Everything about one", chosen);
    const profile_id id = add_id(show);
    control_with(
        show, chosen,
        [one, id](const controller_device &device) {
            return outcome_of<boost::json::object>{.view = one(device, *id)};
        },
        say_one);
}

} // namespace mrc::ctl
