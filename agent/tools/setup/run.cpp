// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/run.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/probes/device.h"
#include "service/config/config.h"
#include "tools/setup/addresses.h"
#include "tools/setup/config_file.h"
#include "tools/setup/config_text.h"
#include "tools/setup/discovery.h"
#include "tools/setup/identity.h"
#include "tools/setup/ports.h"

namespace mrc::setup
{

namespace
{

namespace json = boost::json;

void say(const std::string &line)
{
    fmt::print(stderr, "{}\n", line);
}

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

// Empty where there is none.
std::string text_of_file(const std::string &path)
{
    std::ifstream stream{path};
    return {std::istreambuf_iterator<char>{stream}, {}};
}

hello own_hello()
{
    const auto host = host_of(text_of_file(machine_id_file));
    if (!host)
        throw std::runtime_error{fmt::format("{} {}", machine_id_file, host.error())};
    std::array<char, 256> name{};
    (void)::gethostname(name.data(), name.size() - 1); // without one it is "host"
    hello own{.host = *host, .run = 0, .plan = 0, .port = 0, .ports = 1, .name = hello_name(name.data()), .heard = {}};
    if (::getrandom(&own.run, sizeof own.run, 0) != sizeof own.run)
        throw std::runtime_error{"the kernel gives no random number"};
    return own;
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

bool is_confirmed(const setup_wish &wish, const std::string &text, const names &to)
{
    if (wish.yes)
        return true;
    if (::isatty(STDIN_FILENO) == 0)
        throw std::runtime_error{"standard input is no terminal to ask on: --yes writes without asking, --dry-run only "
                                 "shows"};
    fmt::print(stderr,
               "\n{}\nWho is on a network can say hello there: are these your hosts?\n"
               "Put the addresses on the ports and write {}? [y/N] ",
               text, to.file);
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

json::array strings(const std::vector<std::string> &lines)
{
    json::array all;
    for (const std::string &line : lines)
        all.emplace_back(line);
    return all;
}

json::object view_of(const discovery &found, const std::vector<port_facts> &facts,
                     const std::vector<std::string> &devices, const chosen_names &named)
{
    json::array ports;
    for (std::uint8_t place = 0; place < found.heard.own.ports; ++place) {
        const port_facts &port = facts[place];
        json::object row{{"device", port.device}, {"driver", port.driver}, {"speed_mbps", nullptr},
                         {"mtu", port.mtu},       {"xdp", port.xdp},       {"transmit", port.transmit},
                         {"plane", nullptr},      {"address", nullptr}};
        if (port.speed_mbps)
            row["speed_mbps"] = *port.speed_mbps;
        for (std::size_t plane = 0; plane < found.made.planes.size(); ++plane)
            if (const port_id *own = found.made.port_on(plane, found.heard.own.host);
                own != nullptr && own->port == place) {
                row["plane"] = plane;
                row["address"] =
                    service::to_text(plane_address(found.heard.own.host, static_cast<std::uint8_t>(plane)));
            }
        ports.push_back(std::move(row));
    }
    json::array peers;
    for (const std::uint64_t host : found.made.peers_of(found.heard.own.host)) {
        const auto name = named.of.find(host);
        peers.push_back(
            json::object{{"name", name == named.of.end() ? json::value(nullptr) : json::value(name->second)},
                         {"says_name", found.heard.hosts.at(host).name},
                         {"address", service::to_text(common_address(host))}});
    }
    std::vector<std::string> remarks = remarks_on(found.heard, found.made, devices);
    remarks.insert(remarks.end(), named.remarks.begin(), named.remarks.end());
    return {{"name", found.heard.own.name},       {"address", service::to_text(common_address(found.heard.own.host))},
            {"planes", found.made.planes.size()}, {"ports", std::move(ports)},
            {"peers", std::move(peers)},          {"remarks", strings(remarks)},
            {"malformed_hellos", found.malformed}};
}

discovery find_others(const setup_wish &wish, const hello &own, const std::vector<std::string> &ports)
{
    say(fmt::format("listening on {} for at most {} s: run mrcctl setup on the other hosts now", fmt::join(ports, ", "),
                    wish.longest.count()));
    discovery found = discover({.own = own, .ports = ports, .longest = wish.longest, .hosts = wish.hosts}, &say);
    for (const std::string &line : found.silent)
        say(line);
    if (found.malformed > 0)
        say(fmt::format("{} datagrams that are no hellos came to UDP port {} and were left alone", found.malformed,
                        hello_udp_port));
    for (const std::string &line : remarks_on(found.heard, found.made, ports))
        say(line);
    if (const std::string refusal = refusal_of(found.heard, found.made); !refusal.empty())
        throw std::runtime_error{refusal};
    if (const std::size_t hosts = found.made.peers_of(own.host).size() + 1; wish.hosts && hosts < *wish.hosts)
        throw std::runtime_error{fmt::format("{} of {} hosts were heard: run mrcctl setup on all of them at the same "
                                             "time, or say --hosts {}",
                                             hosts, *wish.hosts, hosts)};
    return found;
}

std::string next_command(const discovery &found, const chosen_names &named, const names &to, bool started)
{
    const std::uint64_t first = found.made.peers_of(found.heard.own.host).front();
    const auto name = named.of.find(first);
    std::string perf = fmt::format("mrc-perf on {}, then mrc-perf {} here", found.heard.hosts.at(first).name,
                                   name == named.of.end() ? service::to_text(common_address(first)) : name->second);
    if (started)
        return perf;
    perf = "then mrcctl setup --probe" + (to.is_of_unit ? "" : " -o " + to.file) + ", " + perf;
    return to.is_of_unit ? fmt::format("systemctl enable {0} && systemctl restart {0} (or mrcd --config {1}), {2}",
                                       to.unit, to.file, perf)
                         : fmt::format("mrcd --config {}, {}", to.file, perf);
}

} // namespace

std::string config_file_of(const setup_wish &wish)
{
    return names_of(wish).file;
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
    const hello own = own_hello();
    const port_choice chosen = choose_ports(network_devices(), wish.ports);
    for (const std::string &line : chosen.left_out)
        say(line);
    const std::vector<port_facts> facts = look_at(chosen.ports);
    const discovery found = find_others(wish, own, chosen.ports);
    const chosen_names named = choose_names(found.heard, found.made, text_of_file(to.file));
    for (const std::string &line : named.remarks)
        say(line);
    const std::string text = config_text(found.heard, found.made, chosen.ports, to.instance, named);
    require_valid(text, to);

    bool is_written = false;
    bool is_started = false;
    if (!wish.dry_run) {
        if (!is_confirmed(wish, text, to))
            throw std::runtime_error{"nothing is written"};
        const auto addresses = addresses_of(found.heard, found.made, chosen.ports);
        const auto added = put_addresses(addresses);
        try {
            await_addresses(addresses);
            write_config(to.file, text, wish.force || (is_blank && std::filesystem::exists(to.file)));
        } catch (...) {
            take_off(added);
            throw;
        }
        is_written = true;
        remove_others(addresses);
        is_started = wish.start && start_unit(to.unit);
        if (wish.start && !is_started)
            say(fmt::format("{} is not started: there is no systemctl here, or it says why above", to.unit));
    }
    const probe_outcome probed = is_started && wish.probe ? wish.probe(wish) : probe_outcome{};
    const std::string next = wish.dry_run          ? "mrcctl setup, without --dry-run"
                             : probed.next.empty() ? next_command(found, named, to, is_started)
                                                   : probed.next;
    if (wish.json) {
        json::object view = view_of(found, facts, chosen.ports, named);
        view["config"] = text;
        view["file"] = to.file;
        view["written"] = is_written;
        view["started"] = is_started;
        view["next"] = next;
        if (!probed.view.empty())
            view["probe"] = probed.view;
        fmt::print("{}\n", json::serialize(view));
    } else if (wish.dry_run) {
        fmt::print("{}", text);
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
        if (port.address && is_of_setup(*port.address) && kernel::probes::ifindex_of(port.device) != 0)
            addresses.push_back({.device = port.device, .address = *port.address});
    (void)put_addresses(addresses);
    remove_others(addresses);
    return 0;
}

} // namespace mrc::setup
