// SPDX-License-Identifier: Apache-2.0
// mrc-doctor: what this host can do for mrcd, found out by trying. See docs/mrc-doctor.8.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "kernel/probes/device.h"
#include "kernel/probes/libbpf_warnings.h"
#include "service/config/config.h"
#include "service/worker_setup.h"
#include "tools/completion/completion.h"
#include "tools/mrc-doctor/host.h"
#include "tools/mrc-doctor/pair.h"
#include "tools/mrc-doctor/peer/peer.h"
#include "tools/mrc-doctor/ports.h"
#include "tools/mrc-doctor/report.h"
#include "tools/mrc-doctor/srv6_peer.h"
#include "tools/peer_probe/peer_probe.h"
#include "tools/usage.h"

namespace
{

using namespace mrc;

constexpr const char *default_config = "/etc/mrc/mrcd.toml";

struct doctor_command {
    std::string config;
    std::vector<std::string> ports;
    std::string peer;
    bool json = false;
};

int refuse(const std::string &problem)
{
    fmt::print(stderr, "mrc-doctor: {}\n", problem);
    return tools::usage_status;
}

// The configuration whose ports are examined: a file, or a default one with the ports named. Throws what is wrong.
service::daemon_config configuration(const doctor_command &wanted)
{
    service::daemon_config config;
    const bool has_default = wanted.ports.empty() && std::filesystem::exists(default_config);
    if (!wanted.config.empty() || has_default) {
        auto loaded = service::load_config(wanted.config.empty() ? default_config : wanted.config);
        if (!loaded)
            throw std::runtime_error{loaded.error().text()};
        return std::move(*loaded);
    }
    config.daemon.pin_dir = "/sys/fs/bpf/mrc/default";
    for (const std::string &device : wanted.ports) {
        if (kernel::probes::ifindex_of(device) == 0)
            throw std::runtime_error{fmt::format("--port: there is no device '{}' here", device)};
        service::port_options port;
        port.device = device;
        config.ports.push_back(std::move(port));
    }
    return config;
}

// Only of the peer: what the host itself can do is another question.
int examine_peer(const doctor_command &wanted)
{
    const service::daemon_config config = configuration(wanted);
    if (config.origin.file.empty())
        throw std::runtime_error{fmt::format("--peer needs the configuration that names the peers: there is no {}, and "
                                             "none is given by --config",
                                             default_config)};
    const std::string instance = config.daemon.instance;
    const doctor::peer_report found =
        config.fabric.mode == service::fabric_mode::direct
            ? doctor::examine_peer(config, wanted.peer,
                                   [&](const std::string &address) { return ctl::probe_planes(instance, address); })
            : doctor::examine_srv6_peer(config, wanted.peer);
    if (wanted.json)
        fmt::print("{}\n", boost::json::serialize(doctor::to_json(found)));
    else
        fmt::print("{}", doctor::to_text(found));
    return found.is_reached() ? 0 : 1;
}

doctor::report examine(const service::daemon_config &config)
{
    doctor::report found;
    utsname system{};
    ::uname(&system);
    found.kernel = system.release;
    found.machine = system.machine;
    const kernel::probes::libbpf_warnings quiet;
    doctor::examine_host({.config = config,
                          .queues = doctor::queues_of(config),
                          .workers = service::workers_of(config),
                          .needs_several_buffers = doctor::mtus_of(config).needs_several_buffers()},
                         found);
    doctor::judge_pair(doctor::try_pair(), config, found);
    if (!config.ports.empty())
        doctor::examine_ports(config, found);
    return found;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app{"mrc-doctor: tries what this host can do for mrcd, what its lacks cost, and how to remedy them"};
    doctor_command wanted;
    auto *config = app.add_option("--config,-c", wanted.config,
                                  fmt::format("ports of this configuration of mrcd; without --config and --port those "
                                              "of {}, if it exists",
                                              default_config));
    auto *port =
        app.add_option("--port,-p", wanted.ports, "these devices, which must be no others' while they are tried")
            ->excludes(config);
    app.add_option("--peer", wanted.peer,
                   "only what is wrong between this host and this peer of the configuration, by name or address")
        ->excludes(port);
    app.add_flag("--json,-j", wanted.json, "one JSON object instead of tables");
    app.set_version_flag("--version", MRC_VERSION);
    if (const auto words = completion::answer(app, argc, argv)) {
        fmt::print("{}", *words);
        return 0;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return tools::end_of(app, error, "mrc-doctor");
    }
    if (::geteuid() != 0)
        return refuse("needs root: it attaches programs to devices and makes a network namespace");
    try {
        if (!wanted.peer.empty())
            return examine_peer(wanted);
        const doctor::report found = examine(configuration(wanted));
        if (wanted.json)
            fmt::print("{}\n", boost::json::serialize(doctor::to_json(found)));
        else
            fmt::print("{}", doctor::to_text(found));
        return doctor::exit_status(doctor::verdict_of(found));
    } catch (const std::exception &error) {
        return refuse(error.what());
    }
}
