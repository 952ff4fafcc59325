// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/run.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/probes/device.h"
#include "service/config/config.h"
#include "tools/setup/addresses.h"
#include "tools/setup/config_file.h"
#include "tools/setup/identity.h"
#include "tools/setup/ports.h"
#include "tools/setup/proposal.h"

namespace mrc::setup
{

namespace
{

namespace json = boost::json;

struct names {
    std::string instance;
    std::string file;
    std::string unit;
    bool is_of_unit = false; // the unit reads the file
};

names names_of(const setup_wish &wish)
{
    const bool is_default = wish.instance.empty() || wish.instance == "default";
    names chosen{.instance = is_default ? "default" : wish.instance,
                 .file = wish.file,
                 .unit = is_default ? "mrcd" : "mrcd@" + wish.instance};
    const std::string of_unit = is_default ? "/etc/mrc/mrcd.toml" : fmt::format("/etc/mrc/{}.toml", wish.instance);
    if (chosen.file.empty())
        chosen.file = of_unit;
    chosen.is_of_unit = chosen.file == of_unit;
    return chosen;
}

std::string text_of(const port_facts &port)
{
    return fmt::format("{}: {}, {}, MTU {}, {}", port.device, port.driver.empty() ? "unknown driver" : port.driver,
                       port.speed_mbps ? fmt::format("{} Mbit/s", *port.speed_mbps) : "speed unknown", port.mtu,
                       port.xdp.empty() ? "no XDP mode of its own now"
                                        : fmt::format("{} XDP, transmit by {}", port.xdp, port.transmit));
}

// What keeps mrcd from running on a port, even one that is not used in the end, is said before others wait for it.
std::vector<port_facts> look_at(const std::vector<std::string> &ports)
{
    const std::vector<port_facts> facts = examine(ports);
    for (const port_facts &port : facts) {
        say(text_of(port));
        for (const std::string &line : port.lacking)
            say("  " + line);
    }
    return facts;
}

// That mrcd takes it is no question of this host's luck.
void require_valid(const std::string &text, const names &to)
{
    if (const auto parsed = service::parse_config(text, to.file); !parsed)
        throw std::runtime_error{"mrcd would not take the configuration: " + parsed.error().text()};
}

bool is_confirmed(const setup_wish &wish, const proposal &made, const names &to)
{
    if (wish.yes)
        return true;
    if (::isatty(STDIN_FILENO) == 0)
        throw std::runtime_error{"standard input is no terminal to ask on: --yes writes without asking, --dry-run only "
                                 "shows"};
    fmt::print(stderr, "\n{}\n{} {}? [y/N] ", made.text, made.question, to.file);
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "yes";
}

bool succeeds(std::string verb, std::string unit)
{
    std::string program = "systemctl";
    const std::array<char *, 4> arguments{program.data(), verb.data(), unit.data(), nullptr};
    pid_t child = 0;
    if (::posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0)
        return false;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// True: systemd has started it, anew if it ran, and will after a restart of the machine.
bool start_unit(const std::string &unit)
{
    return succeeds("enable", unit) && succeeds("restart", unit);
}

json::array view_of(const std::vector<port_facts> &facts, const std::vector<port_seat> &seats)
{
    json::array ports;
    for (std::size_t place = 0; place < facts.size(); ++place) {
        const port_facts &port = facts[place];
        json::object row{{"device", port.device}, {"driver", port.driver}, {"speed_mbps", nullptr},
                         {"mtu", port.mtu},       {"xdp", port.xdp},       {"transmit", port.transmit},
                         {"plane", nullptr},      {"address", nullptr}};
        if (port.speed_mbps)
            row["speed_mbps"] = *port.speed_mbps;
        if (const port_seat &seat = seats[place]; seat.plane) {
            row["plane"] = *seat.plane;
            row["address"] = seat.address;
        }
        ports.push_back(std::move(row));
    }
    return ports;
}

// Peers of the file, which in direct mode has all of them.
setup_wish to_probe(const setup_wish &wish)
{
    setup_wish probing = wish;
    if (!wish.srv6)
        probing.peers.clear();
    return probing;
}

// What has the daemon say who answers. Empty: nobody is known who could.
std::string probing_of(const setup_wish &wish)
{
    if (!wish.probe || (wish.srv6 && wish.peers.empty()))
        return {};
    return probe_command(to_probe(wish));
}

std::string next_command(const proposal &made, const names &to, bool started, const std::string &probing)
{
    if (started)
        return made.next;
    const std::string probe = probing.empty() ? "then " : fmt::format("then {}, ", probing);
    return to.is_of_unit ? fmt::format("systemctl enable {0} && systemctl restart {0} (or mrcd --config {1}), {2}{3}",
                                       to.unit, to.file, probe, made.next)
                         : fmt::format("mrcd --config {}, {}{}", to.file, probe, made.next);
}

// All of it, or nothing.
void write(const proposal &made, const names &to, bool replace)
{
    const auto added = put_addresses(made.addresses);
    try {
        await_addresses(made.addresses);
        write_config(to.file, made.text, replace);
    } catch (...) {
        take_off(added);
        throw;
    }
    remove_others(made.addresses);
}

// The address of setup that a port's device, which is there, should have.
std::optional<service::device_address> address_for(const service::port_options &port)
{
    if (!port.address || !is_of_setup(*port.address) || kernel::probes::ifindex_of(port.device) == 0)
        return std::nullopt;
    return service::device_address{.device = port.device, .address = *port.address};
}

} // namespace

void say(const std::string &line)
{
    fmt::print(stderr, "{}\n", line);
}

std::string text_of_file(const std::string &path)
{
    std::ifstream stream{path};
    return {std::istreambuf_iterator<char>{stream}, {}};
}

std::string own_name()
{
    std::array<char, 256> name{};
    (void)::gethostname(name.data(), name.size() - 1); // without one it is "host"
    return name.data();
}

std::string config_file_of(const setup_wish &wish)
{
    return names_of(wish).file;
}

std::string probe_command(const setup_wish &wish)
{
    const names of = names_of(wish);
    std::string command = "mrcctl setup --probe";
    if (!of.is_of_unit)
        command += " -o " + of.file;
    else if (of.instance != "default")
        command += " --instance " + of.instance;
    for (const std::string &peer : wish.peers)
        command += " --peer " + peer;
    return command;
}

int run_setup(const setup_wish &wish)
{
    const names to = names_of(wish);
    if (::geteuid() != 0)
        throw std::runtime_error{"needs root: it tries the ports, puts addresses on them and writes a configuration"};
    if (wish.start && !to.is_of_unit)
        throw std::runtime_error{fmt::format("--start: {} does not read {}; leave --start out and run mrcd --config {}",
                                             to.unit, to.file, to.file)};
    const bool is_blank = has_no_setting(text_of_file(to.file));
    if (!wish.force && !wish.dry_run && !is_blank)
        throw std::runtime_error{fmt::format("{} is there already: --force replaces it and keeps it as {}, -o writes "
                                             "another file",
                                             to.file, replaced_path(to.file))};
    const port_choice chosen = choose_ports(network_devices(), wish.ports);
    for (const std::string &line : chosen.left_out)
        say(line);
    const std::vector<port_facts> facts = look_at(chosen.ports);
    const proposal_wish asked{.wish = wish, .ports = chosen.ports, .instance = to.instance, .file = to.file};
    proposal made = wish.srv6            ? propose_srv6(asked)
                    : wish.peers.empty() ? propose_direct(asked)
                                         : propose_listed(asked);
    require_valid(made.text, to);

    bool is_started = false;
    if (!wish.dry_run) {
        if (!is_confirmed(wish, made, to))
            throw std::runtime_error{"nothing is written"};
        write(made, to, wish.force || (is_blank && std::filesystem::exists(to.file)));
        is_started = wish.start && start_unit(to.unit);
        if (wish.start && !is_started)
            say(fmt::format("{} is not started: there is no systemctl here, or it says why above", to.unit));
    }
    const bool may_probe = wish.probe && (!wish.srv6 || !wish.peers.empty());
    const probe_outcome probed = is_started && may_probe ? wish.probe(to_probe(wish)) : probe_outcome{};
    const std::string next = wish.dry_run          ? "mrcctl setup, without --dry-run"
                             : probed.next.empty() ? next_command(made, to, is_started, probing_of(wish))
                                                   : probed.next;
    if (wish.json) {
        made.view["ports"] = view_of(facts, made.seats);
        made.view["config"] = made.text;
        made.view["file"] = to.file;
        made.view["written"] = !wish.dry_run;
        made.view["started"] = is_started;
        made.view["next"] = next;
        if (!probed.view.empty())
            made.view["probe"] = probed.view;
        fmt::print("{}\n", json::serialize(made.view));
    } else if (wish.dry_run) {
        fmt::print("{}", made.text);
    } else {
        fmt::print("{} is written. {}", to.file,
                   probed.text.empty() ? fmt::format("Next: {}\n", next) : "\n" + probed.text);
    }
    return probed.status;
}

int restore_addresses(const setup_wish &wish)
{
    const auto config = service::load_config(names_of(wish).file);
    if (!config)
        throw std::runtime_error{config.error().text()};
    std::vector<service::device_address> addresses;
    for (const service::port_options &port : config->ports)
        if (auto address = address_for(port))
            addresses.push_back(*std::move(address));
    (void)put_addresses(addresses);
    remove_others(addresses);
    return 0;
}

void restore_address(const service::port_options &port)
{
    if (const auto address = address_for(port))
        (void)put_addresses(std::span{&*address, 1});
}

} // namespace mrc::setup
