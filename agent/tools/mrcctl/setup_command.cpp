// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/setup_command.h"

#include <cstdlib>
#include <memory>

#include "service/config/config.h"
#include "tools/mrcctl/command_line.h"
#include "tools/peer_probe/setup_probe.h"
#include "tools/setup/plan.h"
#include "tools/setup/run.h"

namespace mrc::ctl
{

namespace
{

constexpr unsigned longest_wait_s = 3600;
constexpr unsigned most_hosts = setup::most_hosts + 1;

int print_probes(const setup::probe_outcome &of, bool as_json)
{
    fmt::print("{}", as_json ? boost::json::serialize(of.view) + '\n' : of.text);
    return of.status;
}

} // namespace

void add_setup(CLI::App &app, invocation &chosen)
{
    CLI::App *const command =
        add_command(app, "setup",
                    "Finds ports, and other hosts or the place in an SRv6 fabric, and writes a configuration", chosen);
    const auto wish = std::make_shared<setup::setup_wish>();
    const auto wait_s = std::make_shared<unsigned>(static_cast<unsigned>(wish->longest.count()));
    CLI::Option *const dry_run =
        command->add_flag("--dry-run", wish->dry_run, "Say hello and listen, print the configuration, change nothing");
    command->add_flag("-y,--yes", wish->yes, "Do not ask before writing");
    command->add_option("--ports", wish->ports, "These devices, with commas between them, and no others")
        ->delimiter(',');
    const auto srv6 = std::make_shared<setup::srv6_wish>();
    const auto finds_place = std::make_shared<bool>();
    CLI::Option *const is_srv6 =
        command->add_flag("--srv6", *finds_place,
                          "The switches shift uSIDs: find this host's leaf, downlink and planes by loops over them");
    command->add_option("--like", srv6->like, "FILE of another host of the fabric, whose plan of uSIDs holds here, too")
        ->needs(is_srv6);
    command->add_option("--leaf", srv6->leaf, "NUMBER of the leaf that this host is on")
        ->needs(is_srv6)
        ->check(CLI::Range(0U, service::max_leaves - 1));
    command->add_option("--downlink", srv6->downlink, "NUMBER of the leaf's downlink to this host")
        ->needs(is_srv6)
        ->check(CLI::Range(0U, service::max_downlinks - 1));
    CLI::Option *const hosts =
        command->add_option("--hosts", wish->hosts, "NUMBER of hosts, this one included: end as soon as they agree")
            ->check(CLI::Range(2U, most_hosts));
    hosts->excludes(is_srv6);
    CLI::Option *const peers =
        command
            ->add_option("--peer", wish->peers,
                         "[NAME=]ADDRESS,... of another host, one for each port: no hello is sent. With --srv6 or "
                         "--probe, ADDRESS or NAME of a host to probe")
            ->expected(1)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    hosts->excludes(peers);
    command->add_option("--wait", *wait_s, "SECONDS to listen at most")
        ->check(CLI::Range(1U, longest_wait_s))
        ->capture_default_str();
    command->add_option("-o,--output", wish->file,
                        "FILE to write; default: /etc/mrc/mrcd.toml, or INSTANCE.toml there");
    CLI::Option *const force =
        command->add_flag("--force", wish->force, "Replace a file that is there, and keep it beside the new one")
            ->excludes(dry_run);
    CLI::Option *const start =
        command->add_flag("--start", wish->start, "Start the daemon by systemctl")->excludes(dry_run);
    const auto restore = std::make_shared<bool>();
    command->add_flag("--restore", *restore, "Only put the addresses of the file on the ports again")
        ->excludes(is_srv6)
        ->excludes(dry_run)
        ->excludes(force)
        ->excludes(start)
        ->excludes(peers);
    const auto probe = std::make_shared<bool>();
    command->add_flag("--probe", *probe, "Only probe the peers of the file, by the daemon that runs")
        ->excludes(is_srv6)
        ->excludes(dry_run)
        ->excludes(force)
        ->excludes(start);
    command->callback([&chosen, wish, wait_s, restore, probe, srv6, finds_place] {
        chosen.local = [&chosen, wish, wait_s, restore, probe, srv6, finds_place] {
            if (*finds_place)
                wish->srv6 = *srv6;
            wish->longest = std::chrono::seconds{*wait_s};
            const char *const named = std::getenv("MRC_INSTANCE");
            wish->instance = chosen.instance.empty() && named != nullptr ? named : chosen.instance;
            wish->json = chosen.json;
            wish->probe = &probe_peers;
            if (*probe)
                return print_probes(probe_peers(*wish), chosen.json);
            return *restore ? setup::restore_addresses(*wish) : setup::run_setup(*wish);
        };
    });
}

} // namespace mrc::ctl
