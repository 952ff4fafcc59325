// SPDX-License-Identifier: Apache-2.0
// mrc-switch: an SRv6 uSID switch for labs. See docs/mrc-switch.1.
#include <cstdlib>
#include <exception>
#include <string>

#include "tools/mrc-switch/config.h"
#include "tools/mrc-switch/impair.h"
#include "tools/mrc-switch/run.h"
#include "tools/mrc-switch/show.h"
#include "tools/usage.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace
{

using namespace mrc::lab_switch;

void add_run(CLI::App &app, std::string &config)
{
    CLI::App *run = app.add_subcommand("run", "Forward until SIGTERM; prints READY when attached");
    run->add_option("--config", config, "Configuration file (TOML)")->required();
    run->callback([&config] { run_switch(read_config(config)); });
}

void add_impair(CLI::App &app, impair_request &request)
{
    CLI::App *impair = app.add_subcommand("impair", "Change the impairments of packets leaving by a port");
    impair->add_option("--pin", request.pin, "The switch's pin directory")->required();
    impair->add_option("--port", request.port, "The port's device")->required();
    impair->add_option("--loss", request.loss, "Share of packets to lose: 1%, 0.01");
    impair->add_option("--corrupt", request.corrupt, "Share of packets to flip one inner bit of");
    impair->add_option("--duplicate", request.duplicate, "Share of packets to send twice");
    impair->add_option("--blackhole", request.blackhole, "Lose everything, without carrier loss: on, off");
    impair->add_option("--rate", request.rate, "Rate of the virtual queue: 10Gbit; off removes the queue");
    impair->add_option("--rtt", request.rtt, "Round-trip time that makes the rate a BDP (100us)");
    impair->add_option("--ecn-threshold", request.ecn_threshold,
                       "Queue at which marking begins and is certain, MIN[,MAX], bytes or % of the BDP (20%,80%); off");
    impair->add_option("--trim", request.trim, "Trim what is trimmable when the queue is over a BDP: on, off");
    impair->add_flag("--clear", request.clear, "First remove all impairments and the virtual queue");
    impair->callback([&request] { apply_impairments(request); });
}

void add_show(CLI::App &app, show_request &request)
{
    CLI::App *show = app.add_subcommand("show", "Ports, impairments, queues and verdicts of a running switch");
    show->add_option("--pin", request.pin, "The switch's pin directory")->required();
    show->add_flag("--json", request.json, "One JSON object");
    show->callback([&request] { show_switch(request); });
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app{"SRv6 uSID switch for labs", "mrc-switch"};
    std::string config;
    impair_request impairments;
    show_request view;

    try {
        app.require_subcommand(1);
        app.set_version_flag("--version", "mrc-switch " MRC_VERSION);
        add_run(app, config);
        add_impair(app, impairments);
        add_show(app, view);
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return mrc::tools::end_of(app, error, "mrc-switch");
    } catch (const std::exception &error) {
        fmt::print(stderr, "mrc-switch: {}\n", error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
