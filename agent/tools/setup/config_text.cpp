// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/config_text.h"

#include <iterator>

#include <fmt/format.h>

#include "tools/setup/identity.h"

namespace mrc::setup
{

namespace
{

std::string addresses_text(const plan &made, std::uint64_t host)
{
    std::string text;
    for (std::size_t plane = 0; plane < made.planes.size(); ++plane)
        fmt::format_to(std::back_inserter(text), "{}\"{}\"", plane == 0 ? "" : ", ",
                       made.port_on(plane, host) == nullptr
                           ? "none"
                           : service::to_text(plane_address(host, static_cast<std::uint8_t>(plane))));
    return text;
}

} // namespace

std::vector<service::device_address> addresses_of(const heard_so_far &heard, const plan &made,
                                                  const std::vector<std::string> &devices)
{
    std::vector<service::device_address> own;
    for (std::size_t plane = 0; plane < made.planes.size(); ++plane)
        if (const port_id *port = made.port_on(plane, heard.own.host))
            own.push_back({.device = devices[port->port],
                           .address = plane_address(heard.own.host, static_cast<std::uint8_t>(plane))});
    return own;
}

std::string config_text(const heard_so_far &heard, const plan &made, const std::vector<std::string> &devices,
                        const std::string &instance, const chosen_names &names)
{
    const auto peers = made.peers_of(heard.own.host);
    std::string text =
        fmt::format("# mrcd(8) on {}, by mrcctl setup: {} plane{}, {} other host{}.\n", heard.own.name,
                    made.planes.size(), made.planes.size() == 1 ? "" : "s", peers.size(), peers.size() == 1 ? "" : "s");
    const auto to = std::back_inserter(text);
    if (instance != "default")
        fmt::format_to(to, "daemon.instance = \"{}\"\n", instance);
    fmt::format_to(to,
                   "fabric.mode = \"direct\"\n# This host: the address that programs know it by, and its ports.\n"
                   "host.address = \"{}\"\n",
                   service::to_text(common_address(heard.own.host)));
    std::string_view before = "port = [";
    for (std::size_t plane = 0; plane < made.planes.size(); ++plane)
        if (const port_id *port = made.port_on(plane, heard.own.host)) {
            fmt::format_to(to, R"({}{{ device = "{}", plane = {}, address = "{}" }})", before, devices[port->port],
                           plane, service::to_text(plane_address(heard.own.host, static_cast<std::uint8_t>(plane))));
            before = ",\n        ";
        }
    text += "]\n# The other hosts: their names here, the same address of theirs, and those on the planes.\npeer = [\n";
    for (const std::uint64_t host : peers)
        fmt::format_to(to, "  {{ name = \"{}\", address = \"{}\", addresses = [{}] }},\n",
                       names.of.contains(host) ? names.of.at(host) : "none", service::to_text(common_address(host)),
                       addresses_text(made, host));
    text += "]\n";
    return text;
}

} // namespace mrc::setup
