// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/fabric_plan/show.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "tools/mrcctl/error.h"
#include "tools/table/table.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr column switch_columns[] = {
    {"SWITCH", "switch"}, {"USID", "usid"}, {"PREFIX", "prefix"}, {"ROUTES", "route_count"}};

constexpr column route_columns[] = {{"NEXT", "toward"}, {"PREFIX", "prefix"}, {"DEVICE", "device"}, {"VIA", "via"}};

service::daemon_config read_plan(const std::string &file)
{
    auto config = service::load_config(file);
    if (!config)
        throw ctl_error{config.error().text()};
    if (config->fabric.mode != service::fabric_mode::srv6)
        throw ctl_error{file + R"(: fabric.mode is "direct": its switches forward by ordinary addresses, and need no )"
                               "uSIDs; allowed is \"srv6\""};
    return *std::move(config);
}

std::vector<fabric_switch> wanted_switches(const service::daemon_config &config, const fabric_show_wish &wish)
{
    std::vector<fabric_switch> switches = switches_of(config, wish.names);
    if (wish.name.empty())
        return switches;
    const auto found = std::ranges::find(switches, wish.name, &fabric_switch::name);
    if (found == switches.end())
        throw ctl_error{fmt::format("no switch '{}' in this fabric; allowed: {} to {}, pPt0-LEAF and pPt1-SPINE",
                                    wish.name, switches.front().name, switches.back().name)};
    return {*found};
}

json::array texts_of(const service::usid_patterns &patterns)
{
    json::array texts;
    for (const service::usid_pattern &pattern : patterns)
        texts.emplace_back(to_text(pattern));
    return texts;
}

json::object view_of(const fabric_switch &node)
{
    json::array routes;
    for (const switch_route &route : node.routes)
        routes.push_back(json::object{
            {"toward", route.toward}, {"prefix", route.prefix}, {"device", route.device}, {"via", route.via}});
    return {{"switch", node.name},
            {"plane", node.plane},
            {"tier", node.tier},
            {"number", node.number},
            {"usid", fmt::format("{:04x}", node.usid)},
            {"prefix", node.prefix},
            {"route_count", node.routes.size()},
            {"routes", routes}};
}

json::object plan_view(const service::daemon_config &config, const std::vector<fabric_switch> &switches,
                       const fabric_show_wish &wish)
{
    const service::fabric_options &fabric = config.fabric;
    json::array nodes;
    for (const fabric_switch &node : switches) {
        json::object view = view_of(node);
        if (wish.language == switch_language::sonic)
            view["config"] = sonic_tables(node, fabric.usids.block.length);
        else if (wish.language)
            view["config"] = switch_text(node, fabric.usids.block.length, *wish.language);
        nodes.push_back(std::move(view));
    }
    return {{"usid_block", service::to_text(fabric.usids.block)},
            {"usid_bits", fabric.usid_bits},
            {"leaf_usid", texts_of(fabric.usids.leaf)},
            {"spine_usid", texts_of(fabric.usids.spine)},
            {"host_usid", to_text(fabric.usids.host)},
            {"given", fabric.usids.given.size()},
            {"planes", fabric.planes},
            {"leaves", fabric.leaves},
            {"uplinks", fabric.uplinks},
            {"hosts_per_leaf", fabric.hosts_per_leaf},
            {"switches", nodes}};
}

std::string joined(const json::value &texts)
{
    std::string all;
    for (const json::value &text : texts.as_array())
        all += (all.empty() ? "" : ", ") + std::string{text.as_string()};
    return all;
}

std::string plan_text(const json::object &plan, bool one)
{
    std::string text =
        fmt::format("block {}, uSIDs of {} bits: leaf {}; spine {}; host {}; {} given by [[usid]]\n\n",
                    plan.at("usid_block").as_string().c_str(), plan.at("usid_bits").to_number<unsigned>(),
                    joined(plan.at("leaf_usid")), joined(plan.at("spine_usid")),
                    plan.at("host_usid").as_string().c_str(), plan.at("given").to_number<unsigned>());
    text += to_table(switch_columns, plan.at("switches").as_array());
    if (one)
        text += '\n' + to_table(route_columns, plan.at("switches").as_array().front().at("routes").as_array());
    return text;
}

// Of several switches, an object of all of them: two would be no JSON.
std::string config_text(const std::vector<fabric_switch> &switches, unsigned block_bits, switch_language language,
                        bool one)
{
    if (language == switch_language::sonic && !one) {
        json::object all;
        for (const fabric_switch &node : switches)
            all[node.name] = sonic_tables(node, block_bits);
        return json::serialize(all) + '\n';
    }
    std::string text;
    for (const fabric_switch &node : switches)
        text += (text.empty() ? "" : "\n") + switch_text(node, block_bits, language);
    return text;
}

} // namespace

std::string show_fabric(const fabric_show_wish &wish)
{
    const service::daemon_config config = read_plan(wish.file);
    const std::vector<fabric_switch> switches = wanted_switches(config, wish);
    const bool one = !wish.name.empty();
    if (wish.language && !wish.json)
        return config_text(switches, config.fabric.usids.block.length, *wish.language, one);
    const json::object plan = plan_view(config, switches, wish);
    return wish.json ? json::serialize(plan) + '\n' : plan_text(plan, one);
}

} // namespace mrc::ctl
