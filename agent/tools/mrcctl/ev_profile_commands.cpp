// SPDX-License-Identifier: Apache-2.0
// `mrcctl ev-profile`
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tools/mrcctl/command_line.h"
#include "tools/mrcctl/control_commands.h"
#include "tools/mrcctl/ev_events.h"
#include "tools/mrcctl/ev_profiles.h"
#include "tools/mrcctl/life_cycle.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr int most_room = 65536;

// The texts of options, which the validators have understood, and what they mean.
struct profile_texts {
    ev_profile_attributes attributes;
    std::vector<std::string> events;
    std::vector<std::string> fields;
    std::vector<std::string> evs;
    bool online = false;
};

parsed<int> parse_events(const std::string &state)
{
    static const std::map<std::string, int> known{
        {"none", 0}, {"good", MRC_CTL_EV_GOOD}, {"assumed_bad", MRC_CTL_EV_ASSUMED_BAD}};
    const auto found = known.find(state);
    if (found == known.end())
        return std::unexpected{
            fmt::format("'{}' is no state to be notified of; allowed: good, assumed_bad, none", state)};
    return found->second;
}

std::vector<mrc_ctl_ev> evs_in(const std::vector<std::string> &texts)
{
    std::vector<mrc_ctl_ev> evs;
    evs.reserve(texts.size());
    for (const std::string &text : texts)
        evs.push_back(parse_ev(text).value());
    return evs;
}

ev_profile_attributes attributes_in(const profile_texts &texts)
{
    ev_profile_attributes attributes = texts.attributes;
    for (const std::string &state : texts.events)
        attributes.events = attributes.events.value_or(0) | parse_events(state).value();
    for (const std::string &text : texts.fields)
        attributes.fields.push_back(parse_field(text).value());
    return attributes;
}

void add_attributes(CLI::App *command, const std::shared_ptr<profile_texts> &texts)
{
    add_choice(
        command, "--mode", ev_mode_names, [texts](mrc_ctl_ev_mode mode) { texts->attributes.mode = mode; },
        "auto: the daemon chooses the EVs; exp: you list them; gen: they are generated from fields");
    command->add_option("--format", texts->attributes.format, "EV format, for modes exp and gen; default: 0");
    command->add_option("--count", texts->attributes.count, "Number of EVs; auto: 0 for one of each path");
    command->add_option("--min-active", texts->attributes.min_active, "So many EVs are never assumed bad; default: 1");
    command
        ->add_option("--events", texts->events, "States to be notified of: good, assumed_bad, or none; default: none")
        ->delimiter(',')
        ->check(understood_by(parse_events));
    command
        ->add_option("--field", texts->fields,
                     "A field: width=BITS[,init=N][,mask=N][,min=N][,max=N]; one for each of "
                     "the format's")
        ->check(understood_by(parse_field));
}

outcome_of<json::object> created(const controller_device &device, std::uint64_t id, const profile_texts &texts)
{
    ev_profile_attributes attributes = attributes_in(texts);
    const std::vector<mrc_ctl_ev> evs = evs_in(texts.evs);
    if (!attributes.mode)
        attributes.mode = evs.empty() ? MRC_CTL_EV_MODE_AUTO : MRC_CTL_EV_MODE_EXP;
    if (!attributes.format && *attributes.mode != MRC_CTL_EV_MODE_AUTO)
        attributes.format = 0;
    if (!attributes.count && !evs.empty())
        attributes.count = static_cast<std::uint32_t>(evs.size());
    attributes.min_active = attributes.min_active.value_or(1);
    attributes.events = attributes.events.value_or(0);
    create_ev_profile(device, id, attributes, evs);
    if (texts.online)
        go_online_or_forget(device, ev_profiles, id);
    return {.view = ev_profile_summary(device, id)};
}

void add_create(CLI::App &object, invocation &chosen)
{
    CLI::App *const command = add_command(object, "create", "A new one, OFFLINE", chosen);
    const profile_id id = add_id(command);
    const auto texts = std::make_shared<profile_texts>();
    add_attributes(command, texts);
    command->add_option("--ev", texts->evs, "EVs of mode exp, as `show` writes them: BITS@PORT")
        ->check(understood_by(parse_ev));
    command->add_flag("--online", texts->online, "And take it ONLINE");
    control_with(
        command, chosen, [id, texts](const controller_device &device) { return created(device, *id, *texts); },
        ev_profile_text);
}

void add_set(CLI::App &object, invocation &chosen)
{
    CLI::App *const command = add_command(object, "set", "Other attributes for one that is OFFLINE", chosen);
    const profile_id id = add_id(command);
    const auto texts = std::make_shared<profile_texts>();
    add_attributes(command, texts);
    control_with(
        command, chosen,
        [id, texts](const controller_device &device) {
            set_ev_profile(device, *id, attributes_in(*texts));
            return outcome_of<json::object>{.view = ev_profile_summary(device, *id)};
        },
        ev_profile_text);
}

// act(device, id, evs) on the EVs that are named.
template <typename Act>
void add_ev_operation(CLI::App &object, invocation &chosen, const char *name, const char *does, Act act)
{
    CLI::App *const command = add_command(object, name, does, chosen);
    const profile_id id = add_id(command);
    const auto texts = std::make_shared<std::vector<std::string>>();
    command->add_option("EV", *texts, "As `show` writes them: BITS@PORT")->required()->check(understood_by(parse_ev));
    control_with(
        command, chosen,
        [id, texts, act](const controller_device &device) {
            auto done = act(device, *id, evs_in(*texts));
            return outcome_of<json::array>{.view = std::move(done.rows), .whole = done.whole};
        },
        entries_text);
}

void add_replace(CLI::App &object, invocation &chosen)
{
    CLI::App *const command = add_command(object, "replace", "Other EVs in place of some, in mode exp", chosen);
    const profile_id id = add_id(command);
    const auto texts = std::make_shared<std::vector<std::string>>();
    const auto choice = std::make_shared<replacement_choice>();
    command->add_option("REPLACEMENT", *texts, "OLD=NEW, EVs as `show` writes them: BITS@PORT=BITS@PORT")
        ->required()
        ->check(understood_by(parse_replacement));
    command->add_flag("--all-copies", choice->all_copies, "Every EV that is OLD, not one of them");
    command->add_flag("--denied", choice->denied, "Deny the new ones from the start");
    control_with(
        command, chosen,
        [id, texts, choice](const controller_device &device) {
            std::vector<std::pair<mrc_ctl_ev, mrc_ctl_ev>> evs;
            for (const std::string &text : *texts)
                evs.push_back(parse_replacement(text).value());
            auto done = replace_evs(device, *id, evs, *choice);
            return outcome_of<json::array>{.view = std::move(done.rows), .whole = done.whole};
        },
        entries_text);
}

void add_events(CLI::App &object, invocation &chosen)
{
    CLI::App *const command = add_command(object, "events", "EVs that enter a state, as it happens", chosen);
    const auto options = std::make_shared<event_options>();
    const auto follow = std::make_shared<bool>();
    CLI::Option *const seconds = command->add_option("--seconds", options->seconds, "End after so long; default: 1")
                                     ->check(CLI::Range(0.0, longest_s));
    command->add_flag("--follow", *follow, "Go on until interrupted")->excludes(seconds);
    command->add_option("--room", options->room, "Events that may wait; what comes when it is full is dropped, counted")
        ->check(CLI::Range(1, most_room))
        ->capture_default_str();
    command->callback([&chosen, options, follow] {
        chosen.control = [&chosen, options, follow](const controller_device &device) {
            options->json = chosen.json;
            if (*follow)
                options->seconds.reset();
            print_events(device, *options);
            return 0;
        };
    });
}

} // namespace

void add_ev_profile(CLI::App &app, invocation &chosen)
{
    CLI::App &object = add_object(app, "ev-profile", "EV profiles: which EVs a queue pair's packets take");
    add_views(object, chosen, ev_profiles_of, ev_profiles_text, ev_profile_of, ev_profile_text);
    add_create(object, chosen);
    add_set(object, chosen);
    add_life_cycle(object, chosen, ev_profiles);
    add_replace(object, chosen);
    add_ev_operation(object, chosen, "deny", "Take EVs out of use",
                     [](const controller_device &device, std::uint64_t id, const std::vector<mrc_ctl_ev> &evs) {
                         return judge_evs(device, id, evs, MRC_CTL_EV_DENIED);
                     });
    add_ev_operation(object, chosen, "allow", "Take denied EVs into use again",
                     [](const controller_device &device, std::uint64_t id, const std::vector<mrc_ctl_ev> &evs) {
                         return judge_evs(device, id, evs, MRC_CTL_EV_GOOD);
                     });
    add_ev_operation(object, chosen, "query", "States of some EVs", query_evs);
    add_events(object, chosen);
}

} // namespace mrc::ctl
