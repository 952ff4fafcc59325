// SPDX-License-Identifier: Apache-2.0
// `mrcctl ev-format`, `cc-profile`, `probe`, and `port enable|disable`
#include "tools/mrcctl/control_commands.h"

#include <vector>

#include "tools/hosts/lookup.h"
#include "tools/mrcctl/cc_profiles.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/ev_formats.h"
#include "tools/mrcctl/life_cycle.h"
#include "tools/mrcctl/probe.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr unsigned most_timeout_ms = 4294; // 32 bits of nanoseconds
constexpr unsigned most_probes = 1000;
constexpr unsigned usual_probes = 10; // these two: a second
constexpr double usual_interval_s = 0.1;
constexpr unsigned usual_timeout_ms = 100; // no longer, so that paths that are dead do not make it longer
constexpr unsigned largest_dscp = 63;

void add_format_create(CLI::App &object, invocation &chosen)
{
    CLI::App *const command = add_command(object, "create", "A new one, OFFLINE", chosen);
    const profile_id id = add_id(command);
    const auto mode = std::make_shared<mrc_ctl_ev_fmt_mode>();
    const auto widths = std::make_shared<std::vector<unsigned>>();
    add_choice(
        command, "--mode", ev_format_mode_names, [mode](mrc_ctl_ev_fmt_mode value) { *mode = value; },
        "stev: flow label and UDP source port; srv6: outer destination; udp: source port")
        ->required();
    command->add_option("--widths", *widths, "Bits of the fields, in their order: 16,16")
        ->required()
        ->delimiter(',')
        ->check(CLI::Range(1, 255));
    control_with(
        command, chosen,
        [id, mode, widths](const controller_device &device) {
            create_ev_format(device, *id, *mode, *widths);
            return outcome_of<json::object>{.view = ev_format_of(device, *id)};
        },
        ev_format_text);
}

CLI::Option *add_settings(CLI::App *command, std::vector<std::string> &texts)
{
    return command->add_option("SETTING", texts, "NAME=VALUE of mrc_ctl_cc_nscc_cfg: bytes and nanoseconds")
        ->check(understood_by(parse_cc_setting));
}

std::vector<cc_setting> settings_in(const std::vector<std::string> &texts)
{
    std::vector<cc_setting> settings;
    settings.reserve(texts.size());
    for (const std::string &text : texts)
        settings.push_back(parse_cc_setting(text).value());
    return settings;
}

void add_cc_create(CLI::App &object, invocation &chosen)
{
    struct options {
        new_cc_profile wanted;
        std::vector<std::string> settings;
        bool online = false;
    };
    CLI::App *const command = add_command(object, "create", "A new one, OFFLINE", chosen);
    const profile_id id = add_id(command);
    const auto given = std::make_shared<options>();
    command->add_option("--algorithm", given->wanted.algorithm, "uet-1.0-nscc, the default; or none");
    command->add_option("--from", given->wanted.from, "CC profile that has the other values")->capture_default_str();
    command->add_flag("--online", given->online, "And take it ONLINE");
    add_settings(command, given->settings);
    control_with(
        command, chosen,
        [id, given](const controller_device &device) {
            given->wanted.settings = settings_in(given->settings);
            create_cc_profile(device, *id, given->wanted);
            if (given->online)
                go_online_or_forget(device, cc_profiles, *id);
            return outcome_of<json::object>{.view = cc_profile_of(device, *id)};
        },
        cc_profile_text);
}

void add_cc_set(CLI::App &object, invocation &chosen)
{
    CLI::App *const command = add_command(object, "set", "Other values for one that is OFFLINE", chosen);
    const profile_id id = add_id(command);
    const auto texts = std::make_shared<std::vector<std::string>>();
    add_settings(command, *texts)->required();
    control_with(
        command, chosen,
        [id, texts](const controller_device &device) {
            set_cc_profile(device, *id, settings_in(*texts));
            return outcome_of<json::object>{.view = cc_profile_of(device, *id)};
        },
        cc_profile_text);
}

outcome_of<json::object> switch_port(const controller_device &device, std::uint8_t port, bool enabled)
{
    mrc_ctl_port_attr attributes{enabled ? MRC_CTL_PORT_ADMIN_ENABLED : MRC_CTL_PORT_ADMIN_DISABLED};
    if (::mrc_ctl_modify_port(device.mrc(), port, &attributes, MRC_CTL_PORT_ADMIN_STATE) != 0 ||
        ::mrc_ctl_query_port(device.mrc(), port, &attributes, MRC_CTL_PORT_ADMIN_STATE) != 0)
        fail_call(fmt::format("{} port {}", enabled ? "enable" : "disable", port));
    return {.view = {{"port", port}, {"enabled", attributes.port_admin_state == MRC_CTL_PORT_ADMIN_ENABLED}}};
}

void add_port_switch(CLI::App &object, invocation &chosen, const char *name, const char *does, bool enabled)
{
    CLI::App *const command = add_command(object, name, does, chosen);
    const auto port = std::make_shared<std::uint8_t>();
    command->add_option("PORT", *port, "Its number, as `port list` has it: from 1")
        ->required()
        ->check(CLI::Range(0, UINT8_MAX));
    control_with(
        command, chosen,
        [port, enabled](const controller_device &device) { return switch_port(device, *port, enabled); },
        port_state_text);
}

} // namespace

void add_ev_format(CLI::App &app, invocation &chosen)
{
    CLI::App &object = add_object(app, "ev-format", "EV formats: where EVs stand in packets, and their fields' widths");
    add_views(object, chosen, ev_formats_of, ev_formats_text, ev_format_of, ev_format_text);
    add_format_create(object, chosen);
    add_life_cycle(object, chosen, ev_formats);
}

void add_cc_profile(CLI::App &app, invocation &chosen)
{
    CLI::App &object = add_object(app, "cc-profile", "CC profiles: the congestion control of a queue pair");
    add_views(object, chosen, cc_profiles_of, cc_profiles_text, cc_profile_of, cc_profile_text);
    add_cc_create(object, chosen);
    add_cc_set(object, chosen);
    add_life_cycle(object, chosen, cc_profiles);
}

void add_probe(CLI::App &app, invocation &chosen)
{
    CLI::App *const command = add_command(app, "probe", "Round trips to another endpoint by each EV", chosen);
    const auto options = std::make_shared<probe_options>();
    const auto texts = std::make_shared<std::vector<std::string>>();
    command->add_option("DEST", options->destination, "Its MRC address, or a peer's name")->required();
    command->add_option("--ev", *texts, "EVs as they stand in packets, BITS@PORT; default: one of each path")
        ->check(understood_by(parse_ev));
    add_choice(
        command, "--mode", ev_format_mode_names, [options](mrc_ctl_ev_fmt_mode mode) { options->format = mode; },
        "Where these stand: stev, srv6 or udp; default: stev");
    options->count = usual_probes;
    options->interval_s = usual_interval_s;
    options->timeout_ms = usual_timeout_ms;
    const auto planes = std::make_shared<bool>();
    command->add_flag("--planes", *planes, "A line for each plane, all of its EVs together");
    command->add_option("-c,--count", options->count, "Requests for each EV")
        ->check(CLI::Range(1U, most_probes))
        ->capture_default_str();
    command->add_option("-i,--interval", options->interval_s, "SECONDS from one request for an EV to the next")
        ->check(CLI::Range(0.0, longest_s))
        ->capture_default_str();
    command->add_option("--timeout", options->timeout_ms, "Milliseconds to wait for the answers to a batch")
        ->check(CLI::Range(1U, most_timeout_ms))
        ->capture_default_str();
    command->add_option("--dscp", options->dscp, "DSCP of the requests")
        ->check(CLI::Range(0U, largest_dscp))
        ->capture_default_str();
    control_with(
        command, chosen,
        [options, texts, planes, &chosen](const controller_device &device) {
            const auto address = tools::address_of_peer(options->destination, tools::instances_meant(chosen.instance));
            if (!address)
                throw ctl_error{address.error()};
            options->destination = *address;
            for (const std::string &text : *texts)
                options->evs.push_back(parse_ev(text).value());
            auto sent = send_probes(device, *options);
            if (!sent.complaint.empty())
                fmt::print(stderr, "mrcctl: not all EVs can be probed: {}\n", sent.complaint);
            return outcome_of<json::array>{.view = *planes ? by_plane(sent.rows) : std::move(sent.rows),
                                           .whole = sent.whole};
        },
        probes_text);
}

void add_port_switches(CLI::App &object, invocation &chosen)
{
    add_port_switch(object, chosen, "enable", "Take a port into use", true);
    add_port_switch(object, chosen, "disable", "Take a port out of use, and tell the peers", false);
}

} // namespace mrc::ctl
