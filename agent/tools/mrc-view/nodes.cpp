// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/nodes.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include <boost/json/object.hpp>

#include "tools/mrcctl/json_text.h"

namespace mrc::view
{

namespace
{

namespace json = boost::json;

json::object node_view(const std::string &name)
{
    unsigned plane = 0;
    unsigned tier = 0;
    unsigned index = 0;
    int end = 0;
    const auto is_whole = [&] { return end == static_cast<int>(name.size()); };
    json::object view{{"name", ctl::json_text(name)}};
    if (std::sscanf(name.c_str(), "p%ut%u-%u%n", &plane, &tier, &index, &end) == 3 && is_whole()) {
        view["kind"] = tier == 0 ? "leaf" : "spine";
        view["plane"] = plane;
        view["index"] = index;
        return view;
    }
    const bool network = std::sscanf(name.c_str(), "plane %u%n", &plane, &end) == 1 && is_whole();
    view["kind"] = network ? "network" : "host";
    view["plane"] = network ? json::value(plane) : json::value(nullptr);
    view["index"] = nullptr;
    return view;
}

} // namespace

json::array nodes_view(const link_table &links)
{
    std::map<std::string, json::object> nodes;
    for (const auto &[key, figures] : links)
        for (const std::string &name : {key.a, key.b})
            if (!nodes.contains(name))
                nodes.emplace(name, node_view(name));
    json::array all;
    for (auto &[name, view] : nodes)
        all.push_back(std::move(view));
    return all;
}

void add_lab_state(json::array &links, const lab_description &lab)
{
    for (json::value &one : links) {
        json::object &view = one.as_object();
        const auto found = std::ranges::find_if(lab.links, [&](const lab_link &link) {
            return view.at("plane") == link.key.plane && view.at("a") == link.key.a.c_str() &&
                   view.at("b") == link.key.b.c_str();
        });
        const bool known = found != lab.links.end();
        view["lab"] = known ? json::value(ctl::json_text(found->state)) : json::value(nullptr);
        view["impairment"] =
            known && !found->impairment.empty() ? json::value(ctl::json_text(found->impairment)) : json::value(nullptr);
    }
}

} // namespace mrc::view
