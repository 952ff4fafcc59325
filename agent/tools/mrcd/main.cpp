// SPDX-License-Identifier: Apache-2.0
// mrcd: the MRC daemon.
#include <algorithm>
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "kernel/startup_error.h"
#include "service/config/config.h"
#include "service/daemon.h"
#include "service/first_port.h"
#include "service/log.h"
#include "service/sessions/session_listener.h"
#include "tools/mrcd/journal.h"
#include "tools/setup/init.h"
#include "tools/setup/run.h"
#include "tools/usage.h"

namespace
{

// Addresses that mrcctl setup gave to a port, which went with its device: before mrcd only those of devices that were
// there could be put on them again.
void restore_address(const mrc::service::port_options &port)
{
    try {
        mrc::setup::restore_address(port);
    } catch (const std::exception &error) {
        mrc::service::log::warn("port {}: its address is not there again: {}", port.device, error.what());
    }
}

// False: a signal ends mrcd. Else the configuration is the one that holds now.
bool await_port(mrc::service::daemon_config &config)
{
    using enum mrc::service::first_port_outcome;
    for (;;) {
        mrc::service::log::set_level(config.daemon.level);
        const auto outcome = mrc::service::await_first_port(config);
        if (outcome == has_come)
            std::ranges::for_each(config.ports, &restore_address);
        if (outcome != is_to_read)
            return outcome != is_to_end;
        if (auto fresh = mrc::service::load_config(config.origin.file))
            config = *std::move(fresh);
        else
            mrc::service::log::error("the configuration stays as it is: {}", fresh.error().text());
    }
}

int serve(mrc::service::daemon_config config)
{
    mrc::journal::log_there(config.daemon.instance);
    if (!await_port(config))
        return 0;
    mrc::service::log::debug("at most {} descriptors", mrc::service::raise_descriptor_limit());
    mrc::service::daemon daemon{config, mrc::service::daemon_place::process, &restore_address};
    fmt::print("READY {}\n", config.daemon.instance);
    std::fflush(stdout);
    daemon.run();
    return 0;
}

int set_up(const std::string &file)
{
    try {
        return mrc::setup::run_init(file);
    } catch (const std::exception &error) {
        fmt::print(stderr, "mrcd: --init: {}\n", error.what());
        return 1;
    }
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app{"mrcd: makes this host a Multipath Reliable Connection (MRC) endpoint"};
    std::string file = "/etc/mrc/mrcd.toml";
    bool check = false;
    bool print = false;
    app.add_option("--config,-c", file, "configuration file (TOML), see mrcd(8)")->capture_default_str();
    app.add_flag("--check", check, "check the configuration and exit");
    app.add_flag("--print-config", print, "print the effective configuration with the origin of each value and exit");
    bool init = false;
    app.add_flag("--init", init,
                 "write the configuration unless there is one, as mrcctl setup --yes does on hosts that are cabled or "
                 "switched to each other, and exit");
    app.set_version_flag("--version", MRC_VERSION);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return mrc::tools::end_of(app, error, "mrcd");
    }

    if (init)
        return set_up(file);
    if (const std::string step = mrc::setup::first_step(file); !step.empty()) {
        fmt::print(stderr, "mrcd: {}\n", step);
        return mrc::tools::usage_status;
    }
    const auto config = mrc::service::load_config(file);
    if (!config) {
        fmt::print(stderr, "mrcd: {}\n", config.error().text());
        return mrc::tools::usage_status;
    }
    if (print)
        fmt::print("{}", mrc::service::print_config(*config));
    if (check)
        fmt::print("{}: configuration is valid\n", file);
    if (print || check)
        return 0;
    try {
        return serve(*config);
    } catch (const mrc::kernel::startup_error &error) {
        fmt::print(stderr, "mrcd: {}\n", error.what());
    } catch (const std::exception &error) {
        fmt::print(stderr, "mrcd: {}\n", error.what());
    }
    return 1;
}
