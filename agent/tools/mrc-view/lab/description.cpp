// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/lab/description.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "tools/mrcctl/json_text.h"

namespace mrc::view
{

namespace
{

namespace json = boost::json;

std::string text_of(const json::value &value)
{
    return value.is_string() ? std::string{value.get_string()} : std::string{};
}

// A host's port of plane N is called pN; switches' names begin with their plane.
std::uint32_t plane_of(const std::string &name)
{
    return name.size() > 1 && name[0] == 'p' ? static_cast<std::uint32_t>(std::strtoul(name.c_str() + 1, nullptr, 10))
                                             : 0;
}

void add_host(lab_description &to, const json::object &host)
{
    const std::string name = text_of(host.at("name"));
    to.hosts.push_back({.name = name, .instance = text_of(host.at("instance"))});
    std::vector<std::string> addresses{text_of(host.at("mrc_address")), text_of(host.at("ipv4_address"))};
    for (const json::value &address : host.at("plane_addresses").as_array())
        addresses.push_back(text_of(address));
    for (const std::string &address : addresses)
        if (!address.empty())
            to.names.emplace(address, name);
}

bool is_host(const lab_description &lab, const std::string &name)
{
    return std::ranges::find(lab.hosts, name, &lab_host::name) != lab.hosts.end();
}

void add_link(lab_description &to, const json::object &link)
{
    const std::string a = text_of(link.at("a"));
    const std::string b = text_of(link.at("b"));
    const bool from_host = is_host(to, a);
    const std::uint32_t plane = plane_of(from_host ? text_of(link.at("a_dev")) : a);
    to.links.push_back(
        {.key = {.plane = plane, .a = std::min(a, b), .b = std::max(a, b)}, .state = text_of(link.at("state"))});
    lab_link &made = to.links.back();
    if (!is_host(to, b)) // not a cable between hosts, whose ends are in the order of their names
        made.key = {.plane = plane, .a = a, .b = b};
    if (from_host)
        to.neighbours[{a, plane}] = b;
    if (is_host(to, b))
        to.neighbours[{b, plane}] = a;
}

std::string words_of(const json::object &impairment)
{
    std::string words;
    for (const auto &[name, value] : impairment) {
        if (name == "from" || name == "to")
            continue;
        const std::string text = value.is_string() ? std::string{value.get_string()} : json::serialize(value);
        words += fmt::format("{}{} {}", words.empty() ? "" : ", ", std::string{name}, text);
    }
    return fmt::format("{} from {} to {}", words, text_of(impairment.at("from")), text_of(impairment.at("to")));
}

void add_impairment(lab_description &to, const json::object &impairment)
{
    const std::string from = text_of(impairment.at("from"));
    const std::string toward = text_of(impairment.at("to"));
    for (lab_link &link : to.links)
        if ((link.key.a == from && link.key.b == toward) || (link.key.a == toward && link.key.b == from))
            link.impairment += (link.impairment.empty() ? "" : "; ") + words_of(impairment);
}

lab_description described(const json::object &status)
{
    lab_description lab{.prefix = text_of(status.at("prefix")),
                        .directory = text_of(status.at("directory")),
                        .kind = text_of(status.at("fabric")),
                        .planes = status.at("planes").to_number<std::uint32_t>(),
                        .impairs = text_of(status.at("fabric")) == "srv6"};
    for (const json::value &host : status.at("hosts").as_array())
        add_host(lab, host.as_object());
    for (const json::value &one : status.at("switches").as_array()) {
        lab.switches.push_back(text_of(one.at("name")));
        if (one.at("state") == "down")
            lab.cut_switches.push_back(lab.switches.back());
    }
    for (const json::value &link : status.at("links").as_array())
        add_link(lab, link.as_object());
    for (const json::value &impairment : status.at("impairments").as_array())
        add_impairment(lab, impairment.as_object());
    return lab;
}

} // namespace

lab_description parse_lab(const std::string &status)
{
    try {
        return described(json::parse(status).as_object());
    } catch (const std::exception &error) {
        throw std::runtime_error{fmt::format("mrc-lab status says something else than expected: {}", error.what())};
    }
}

json::object lab_view(const lab_description &lab)
{
    json::array planes;
    for (std::uint32_t plane = 0; plane < lab.planes; ++plane) {
        const bool cut = std::ranges::all_of(
            lab.links, [&](const lab_link &link) { return link.key.plane != plane || link.state != "up"; });
        planes.push_back(json::object{{"plane", plane}, {"cut", cut}});
    }
    return {{"prefix", ctl::json_text(lab.prefix)},
            {"fabric", ctl::json_text(lab.kind)},
            {"planes", std::move(planes)},
            {"impairs", lab.impairs}};
}

} // namespace mrc::view
