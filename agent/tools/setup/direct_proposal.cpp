// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include <boost/json/array.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>

#include "tools/setup/config_text.h"
#include "tools/setup/discovery.h"
#include "tools/setup/identity.h"
#include "tools/setup/proposal.h"

namespace mrc::setup
{

namespace
{

namespace json = boost::json;

hello own_hello()
{
    const auto host = host_of(text_of_file(machine_id_file));
    if (!host)
        throw std::runtime_error{fmt::format("{} {}", machine_id_file, host.error())};
    hello own{.host = *host, .run = 0, .plan = 0, .port = 0, .ports = 1, .name = hello_name(own_name()), .heard = {}};
    if (::getrandom(&own.run, sizeof own.run, 0) != sizeof own.run)
        throw std::runtime_error{"the kernel gives no random number"};
    return own;
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

std::vector<port_seat> seats_of(const discovery &found)
{
    std::vector<port_seat> seats(found.heard.own.ports);
    for (std::size_t plane = 0; plane < found.made.planes.size(); ++plane)
        if (const port_id *own = found.made.port_on(plane, found.heard.own.host))
            seats[own->port] = {
                .plane = static_cast<unsigned>(plane),
                .address = service::to_text(plane_address(found.heard.own.host, static_cast<std::uint8_t>(plane)))};
    return seats;
}

json::object view_of(const discovery &found, const std::vector<std::string> &devices, const chosen_names &named)
{
    json::array peers;
    for (const std::uint64_t host : found.made.peers_of(found.heard.own.host)) {
        const auto name = named.of.find(host);
        peers.push_back(
            json::object{{"name", name == named.of.end() ? json::value(nullptr) : json::value(name->second)},
                         {"says_name", found.heard.hosts.at(host).name},
                         {"address", service::to_text(common_address(host))}});
    }
    json::array remarks;
    for (const auto &lines : {remarks_on(found.heard, found.made, devices), named.remarks})
        for (const std::string &line : lines)
            remarks.emplace_back(line);
    return {{"mode", "direct"},
            {"name", found.heard.own.name},
            {"address", service::to_text(common_address(found.heard.own.host))},
            {"planes", found.made.planes.size()},
            {"peers", std::move(peers)},
            {"remarks", std::move(remarks)},
            {"malformed_hellos", found.malformed}};
}

std::string next_of(const discovery &found, const chosen_names &named)
{
    const std::uint64_t first = found.made.peers_of(found.heard.own.host).front();
    const auto name = named.of.find(first);
    return fmt::format("mrc-perf on {}, then mrc-perf {} here", found.heard.hosts.at(first).name,
                       name == named.of.end() ? service::to_text(common_address(first)) : name->second);
}

} // namespace

proposal propose_direct(const proposal_wish &of)
{
    const discovery found = find_others(of.wish, own_hello(), of.ports);
    const chosen_names named = choose_names(found.heard, found.made, text_of_file(of.file));
    for (const std::string &line : named.remarks)
        say(line);
    return {.text = config_text(found.heard, found.made, of.ports, of.instance, named),
            .addresses = addresses_of(found.heard, found.made, of.ports),
            .seats = seats_of(found),
            .question = "Who is on a network can say hello there: are these your hosts?\nPut the addresses on the "
                        "ports and write",
            .next = next_of(found, named),
            .view = view_of(found, of.ports, named)};
}

} // namespace mrc::setup
