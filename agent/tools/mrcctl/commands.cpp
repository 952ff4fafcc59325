// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/commands.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernel/map_names.h"
#include "tools/completion/completion.h"
#include "tools/hosts/hosts_command.h"
#include "tools/mrcctl/adopt_commands.h"
#include "tools/mrcctl/capture/command.h"
#include "tools/mrcctl/command_line.h"
#include "tools/mrcctl/config_show.h"
#include "tools/mrcctl/control_commands.h"
#include "tools/mrcctl/diagnose/command.h"
#include "tools/mrcctl/events.h"
#include "tools/mrcctl/fabric.h"
#include "tools/mrcctl/fabric_plan/command.h"
#include "tools/mrcctl/metrics_command.h"
#include "tools/mrcctl/path_rates.h"
#include "tools/mrcctl/peer_views.h"
#include "tools/mrcctl/rates.h"
#include "tools/mrcctl/setup_command.h"
#include "tools/mrcctl/text.h"
#include "tools/mrcctl/top.h"
#include "tools/mrcctl/trace/command.h"
#include "tools/mrcctl/views.h"
#include "tools/usage.h"

namespace mrc::ctl
{

namespace
{

constexpr double shortest_s = 0.01; // as often as the daemon writes its rows

// What the maps say: look(maps) gives the view, say(view) makes it readable.
template <typename Look, typename Say>
void show_with(CLI::App *command, invocation &chosen, const Look &look, const Say &say)
{
    command->callback([&chosen, look, say] {
        chosen.run = [&chosen, look, say](const host_maps &maps) {
            const auto view = look(maps);
            fmt::print("{}", chosen.json ? boost::json::serialize(view) + '\n' : say(view));
            tell_if_not_running(maps);
            return 0;
        };
    });
}

void add_status(CLI::App &app, invocation &chosen)
{
    CLI::App *command = add_command(app, "status", "The daemon, its ports, paths, totals and drops", chosen);
    command->callback([&chosen] {
        chosen.run = [&chosen](const host_maps &maps) {
            const boost::json::object view = status_of(maps);
            fmt::print("{}", chosen.json ? boost::json::serialize(view) + '\n' : status_text(view));
            return view.at("daemon").at("alive").as_bool() ? 0 : 1;
        };
    });
}

void add_client(CLI::App &app, invocation &chosen)
{
    CLI::App &object = add_object(app, "client", "Programs that are connected to the daemon, each with a session");
    object.alias("session");
    show_with(add_command(object, "list", "All clients, with their processes and what they have", chosen), chosen,
              &clients_of, &clients_text);

    const auto session = std::make_shared<std::uint32_t>();
    CLI::App *show = add_command(object, "show", "One of them, with its queue pairs and their workers", chosen);
    show->add_option("SESSION", *session, "Its number, as `client list` prints it")->required();
    show_with(show, chosen, [session](const host_maps &maps) { return client_of(maps, *session); }, &client_text);
}

void add_qp(CLI::App &app, invocation &chosen)
{
    CLI::App &object = add_object(app, "qp", "Queue pairs");
    show_with(add_command(object, "list", "All queue pairs, with the programs that they belong to", chosen), chosen,
              &qps_of, &qps_text);

    const auto qpn = std::make_shared<std::uint32_t>();
    CLI::App *show = add_command(object, "show", "Every counter of one queue pair", chosen);
    show->add_option("QPN", *qpn, "Its number")->required();
    show_with(show, chosen, [qpn](const host_maps &maps) { return qp_of(maps, *qpn); }, &qp_text);
}

// Options of `path list`.
struct path_options {
    std::optional<std::uint32_t> plane;
    std::string peer;
    std::string state;
    double seconds = 0; // for rates; 0: totals
};

path_filter filter_of(const path_options &choice, const host_maps &maps)
{
    path_filter filter{.range = {}, .plane = choice.plane, .state = {}};
    if (!choice.peer.empty())
        filter.range = paths_toward(maps, choice.peer);
    if (!choice.state.empty())
        filter.state = static_cast<mrc_path_state>(std::ranges::find(kernel::path_state_names, choice.state) -
                                                   kernel::path_state_names.begin());
    return filter;
}

boost::json::array rates_of_paths(const host_maps &maps, const path_options &choice)
{
    path_filter filter = filter_of(choice, maps);
    const path_sample before = take_path_sample(maps, {.range = filter.range, .plane = filter.plane, .state = {}});
    std::this_thread::sleep_for(std::chrono::duration<double>{choice.seconds});
    const path_sample after = take_path_sample(maps, filter);
    return path_rates(before, after, event_reader{maps.of()}.take());
}

void add_path(CLI::App &app, invocation &chosen)
{
    CLI::App &object = add_object(app, "path", "Paths toward the other leaves, with their state and signals");
    const auto choice = std::make_shared<path_options>();
    CLI::App *list = add_command(object, "list", "All paths, or those chosen", chosen);
    list->add_option("--plane", choice->plane, "Of this plane only")->check(CLI::Range(0, MRC_MAX_PORTS - 1));
    list->add_option("--peer", choice->peer, "Toward this peer only: an MRC address, or a name");
    list->add_option("--state", choice->state, "In this state only")
        ->check(CLI::IsMember(
            std::vector<std::string>{kernel::path_state_names.begin() + 1, kernel::path_state_names.end()}));
    list->add_option("--diff", choice->seconds,
                     "Rates, losses and round trips of so many SECONDS, and the last changes")
        ->check(CLI::Range(shortest_s, longest_s));
    show_with(
        list, chosen,
        [choice](const host_maps &maps) {
            return choice->seconds == 0 ? paths_of(maps, filter_of(*choice, maps)) : rates_of_paths(maps, *choice);
        },
        [choice](const boost::json::array &paths) {
            return choice->seconds == 0 ? paths_text(paths) : path_rates_text(paths);
        });

    const auto number = std::make_shared<std::uint32_t>();
    CLI::App *show = add_command(object, "show", "Everything about one path", chosen);
    show->add_option("PATH", *number, "Its number, as `path list` prints it")->required();
    show_with(show, chosen, [number](const host_maps &maps) { return path_of(maps, *number); }, &path_text);
}

void add_port(CLI::App &app, invocation &chosen)
{
    CLI::App &object = add_object(app, "port", "The host's ports, one per plane");
    show_with(add_command(object, "list", "All ports, with the reason why one is out of use", chosen), chosen,
              &ports_of, &ports_text);
    add_port_switches(object, chosen);
}

void add_peer(CLI::App &app, invocation &chosen)
{
    CLI::App &object = add_object(app, "peer", "Other hosts that paths lead to");
    show_with(add_command(object, "list", "All peers, with their planes, paths and queue pairs", chosen), chosen,
              &peers_of, &peers_text);

    const auto named = std::make_shared<std::string>();
    CLI::App *show = add_command(object, "show", "Everything about one peer", chosen);
    show->add_option("PEER", *named, "An MRC address of it, or its name")->required();
    show_with(show, chosen, [named](const host_maps &maps) { return peer_of(maps, *named); }, &peer_text);
}

void add_fabric(CLI::App &app, invocation &chosen)
{
    CLI::App &object = add_object(app, "fabric", "Links and switches around this host");
    show_with(add_command(object, "map", "Each link that this host probes, and whether it is at fault", chosen), chosen,
              &fabric_map_of, &fabric_map_text);
    add_fabric_show(object, chosen);
}

void add_counters(CLI::App &app, invocation &chosen)
{
    CLI::App *command = add_command(app, "counters", "Packets by verdict: passed on, or dropped and why", chosen);
    const auto seconds = std::make_shared<double>();
    const auto all = std::make_shared<bool>();
    command->add_option("--diff", *seconds, "Count for so many SECONDS, instead of since the daemon started")
        ->check(CLI::Range(shortest_s, longest_s));
    command->add_flag("--all", *all, "Verdicts that counted nothing, too; JSON always has them");
    show_with(
        command, chosen,
        [seconds](const host_maps &maps) -> boost::json::object {
            if (*seconds == 0)
                return {{"verdicts", verdicts_view(maps.verdicts())}};
            const sample before = take_sample(maps);
            std::this_thread::sleep_for(std::chrono::duration<double>{*seconds});
            return difference_view(before, take_sample(maps));
        },
        [all](const boost::json::object &view) { return counters_text(view, *all); });
}

void add_event(CLI::App &app, invocation &chosen)
{
    CLI::App *command = add_command(
        app, "event",
        "What happened to ports, planes, peers, links, paths, sessions, queue pairs, what is dropped, and why", chosen);
    const auto options = std::make_shared<history_options>();
    command->add_flag("-f,--follow", options->follow, "Go on with those that come, until interrupted");
    command->add_option("--since", options->since_s, "Only of the last SECONDS")->check(CLI::Range(0.0, longest_s));
    command->callback([&chosen, options] {
        chosen.run = [&chosen, options](const host_maps &maps) {
            options->json = chosen.json;
            if (!options->follow)
                tell_if_not_running(maps);
            return print_history(maps, *options);
        };
    });
}

void add_top(CLI::App &app, invocation &chosen)
{
    CLI::App *command = add_command(app, "top", "Rates of planes and queue pairs, refreshed; q ends it", chosen);
    const auto options = std::make_shared<top_options>();
    const auto once = std::make_shared<bool>();
    const auto order = std::make_shared<std::string>(qp_order_names.front());
    command->add_option("--sort", *order, "Which queue pairs come first: the busiest, or by what")
        ->check(CLI::IsMember(std::vector<std::string>{qp_order_names.begin(), qp_order_names.end()}))
        ->capture_default_str();
    command->add_option("--interval", options->interval_s, "SECONDS between tables")
        ->check(CLI::Range(shortest_s, longest_s))
        ->capture_default_str();
    CLI::Option *iterations = command->add_option("--iterations", options->iterations, "End after so many tables")
                                  ->check(CLI::PositiveNumber);
    command->add_flag("--once", *once, "End after one table")->excludes(iterations);
    command->callback([&chosen, options, once, order] {
        chosen.run = [&chosen, options, once, order](const host_maps &maps) {
            options->json = chosen.json;
            options->order = static_cast<qp_order>(std::ranges::find(qp_order_names, *order) - qp_order_names.begin());
            if (*once)
                options->iterations = 1;
            run_top(maps, *options);
            return 0;
        };
    });
}

// What is wrong, and which objects, commands or options may stand there.
std::string explain(const CLI::App &app, const CLI::ParseError &error)
{
    const CLI::App *at = &app;
    std::string path = "mrcctl";
    while (!at->get_subcommands().empty()) {
        at = at->get_subcommands().front();
        path += " " + at->get_name();
    }
    const std::vector<std::string> unknown = app.remaining(true);
    const std::string wrong = unknown.empty() ? error.what() : fmt::format("'{}' is not known here", unknown.front());
    std::vector<std::string> names;
    for (const CLI::App *command : at->get_subcommands([](const CLI::App *) { return true; }))
        names.push_back(command->get_name());
    return names.empty() ? fmt::format("{}; see {} --help", wrong, path)
                         : fmt::format("{}; allowed: {}", wrong, fmt::join(names, ", "));
}

} // namespace

CLI::App *add_command(CLI::App &to, const char *name, const char *does, invocation &chosen)
{
    CLI::App *command = to.add_subcommand(name, does);
    command->add_option("--instance", chosen.instance, "Name of the mrcd; default: MRC_INSTANCE, or the only one");
    command->add_flag("-j,--json", chosen.json, "Print JSON");
    return command;
}

CLI::App &add_object(CLI::App &to, const char *name, const char *is)
{
    CLI::App *object = to.add_subcommand(name, is);
    object->require_subcommand(1);
    return *object;
}

std::optional<int> parse_command_line(int argc, char **argv, invocation &to)
{
    CLI::App app{"Shows what an mrcd does, from its pinned maps: the daemon need not answer. Changes its profiles and "
                 "ports, and probes paths, by asking it.",
                 "mrcctl"};
    app.add_option("--instance", to.instance, "Name of the mrcd; default: MRC_INSTANCE, or the only one");
    app.add_flag("-j,--json", to.json, "Print JSON");
    app.set_version_flag("--version", "mrcctl " MRC_VERSION);
    app.require_subcommand(1);
    add_status(app, to);
    add_client(app, to);
    add_qp(app, to);
    add_path(app, to);
    add_port(app, to);
    add_peer(app, to);
    add_fabric(app, to);
    add_counters(app, to);
    add_event(app, to);
    add_top(app, to);
    add_diagnose(app, to);
    add_metrics(app, to);
    add_capture(app, to);
    add_trace(app, to);
    add_ev_profile(app, to);
    add_ev_format(app, to);
    add_cc_profile(app, to);
    add_probe(app, to);
    add_run(app, to);
    add_adopt(app, to);
    add_hosts_command(app, to);
    add_setup(app, to);
    add_config(app, to);
    if (const auto words = completion::answer(app, argc, argv)) {
        fmt::print("{}", *words);
        return EXIT_SUCCESS;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == 0)
            return app.exit(error);
        fmt::print(stderr, "mrcctl: {}\n", explain(app, error));
        return tools::usage_status;
    }
    return std::nullopt;
}

} // namespace mrc::ctl
