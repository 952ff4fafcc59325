// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include <boost/json/array.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "service/config/config.h"
#include "tools/setup/proposal.h"

namespace mrc::setup
{

namespace
{

namespace json = boost::json;

struct listed_peer {
    std::string name; // empty: none
    std::vector<std::string> addresses;

    [[nodiscard]] std::string text() const
    {
        std::string of_name = name.empty() ? "" : fmt::format("name = \"{}\", ", name);
        return fmt::format("{{ {}addresses = [\"{}\"] }}", of_name, fmt::join(addresses, "\", \""));
    }
    // By which it is known; empty where it is on no plane.
    [[nodiscard]] std::string address() const
    {
        const auto first = std::ranges::find_if(addresses, [](const auto &each) { return each != "none"; });
        return first == addresses.end() ? std::string{} : *first;
    }
    [[nodiscard]] std::string called() const { return name.empty() ? address() : name; }
};

listed_peer peer_of(const std::string &argument, std::size_t ports)
{
    listed_peer peer;
    std::string_view left = argument;
    if (const std::size_t at = left.find('='); at != std::string_view::npos) {
        peer.name = left.substr(0, at);
        left.remove_prefix(at + 1);
    }
    for (;;) {
        const std::size_t end = std::min(left.find(','), left.size());
        peer.addresses.emplace_back(left.substr(0, end));
        if (end == left.size())
            break;
        left.remove_prefix(end + 1);
    }
    for (const std::string &address : peer.addresses)
        if (address != "none" && !service::parse_ip(address))
            throw std::runtime_error{
                fmt::format("--peer {}: '{}' is no address; allowed: [NAME=]ADDRESS,… with an IPv6 "
                            "or IPv4 address for each port, in their order, or \"none\"",
                            argument, address)};
    if (peer.addresses.size() != ports)
        throw std::runtime_error{fmt::format("--peer {}: {} address{} for {} port{}: one for each is needed, in their "
                                             "order, or \"none\"; --ports names the ports",
                                             argument, peer.addresses.size(), peer.addresses.size() == 1 ? "" : "es",
                                             ports, ports == 1 ? "" : "s")};
    return peer;
}

// `own`: by port; empty where it is not known yet.
std::string config_text(const proposal_wish &of, const std::vector<listed_peer> &peers,
                        const std::vector<std::string> &own)
{
    std::string text = fmt::format("# mrcd(8) on {}, by mrcctl setup --peer: {} other host{}.\n", own_name(),
                                   peers.size(), peers.size() == 1 ? "" : "s");
    const auto to = std::back_inserter(text);
    if (of.instance != "default")
        fmt::format_to(to, "daemon.instance = \"{}\"\n", of.instance);
    fmt::format_to(to, "fabric.mode = \"direct\"\n# The ports, with this host's address on each plane.\n");
    std::vector<std::string> ports;
    ports.reserve(of.ports.size());
    for (std::size_t plane = 0; plane < of.ports.size(); ++plane)
        ports.push_back(fmt::format(R"({{ device = "{}", plane = {}{} }})", of.ports[plane], plane,
                                    own.empty() ? std::string{} : fmt::format(R"(, address = "{}")", own[plane])));
    fmt::format_to(to, "port = [{}]\n# The other hosts, with their addresses by plane.\npeer = [\n",
                   fmt::join(ports, ",\n        "));
    for (const listed_peer &peer : peers)
        fmt::format_to(to, "  {},\n", peer.text());
    return text + "]\n";
}

// Those that the ports have: nobody else's are known to be free.
std::vector<std::string> own_addresses(const std::string &text, const std::string &file)
{
    auto config = service::parse_config(text, file);
    if (!config)
        throw std::runtime_error{"--peer: " + config.error().text()};
    const auto known = service::read_device_addresses();
    if (!known)
        throw std::runtime_error{"cannot read the addresses of the ports: " + known.error().message()};
    if (const auto found = service::find_own_addresses(*config, *known); !found)
        throw std::runtime_error{found.error()};
    std::vector<std::string> own;
    own.reserve(config->ports.size());
    for (const service::port_options &port : config->ports)
        own.push_back(service::to_text(port.own_address.value_or(mrc_ip{})));
    return own;
}

} // namespace

proposal propose_listed(const proposal_wish &of)
{
    std::vector<listed_peer> peers;
    peers.reserve(of.wish.peers.size());
    for (const std::string &argument : of.wish.peers)
        peers.push_back(peer_of(argument, of.ports.size()));
    const std::vector<std::string> own = own_addresses(config_text(of, peers, {}), of.file);
    json::array named;
    for (const listed_peer &peer : peers)
        named.push_back(json::object{{"name", peer.name.empty() ? json::value(nullptr) : json::value(peer.name)},
                                     {"says_name", nullptr},
                                     {"address", peer.address()}});
    std::vector<port_seat> seats;
    seats.reserve(own.size());
    for (unsigned plane = 0; plane < own.size(); ++plane)
        seats.push_back({.plane = plane, .address = own[plane]});
    return {.text = config_text(of, peers, own),
            .addresses = {},
            .seats = std::move(seats),
            .question = "Are these your hosts? Write",
            .next = fmt::format("mrc-perf on {0}, then mrc-perf {0} here", peers.front().called()),
            .view = {{"mode", "direct"},
                     {"name", own_name()},
                     {"address", own.front()},
                     {"planes", own.size()},
                     {"peers", std::move(named)},
                     {"remarks", json::array{}},
                     {"malformed_hellos", 0}}};
}

} // namespace mrc::setup
