// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/top.h"

#include <boost/json/serialize.hpp>

#include "tools/mrcctl/rates.h"
#include "tools/mrcctl/terminal.h"
#include "tools/mrcctl/text.h"
#include "tools/mrcctl/views.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

json::object top_view(const host_maps &maps, const sample &before, const sample &after)
{
    json::object status = status_of(maps);
    json::object view{{"instance", status.at("instance")}, {"daemon", status.at("daemon")}};
    for (auto &[name, value] : rates_view(before, after))
        view[name] = value;
    json::array &planes = view.at("planes").as_array();
    for (json::value &plane : planes)
        plane.as_object()["paths"] =
            count_paths(maps, {.range = {}, .plane = plane.at("plane").to_number<std::uint32_t>(), .state = {}});
    return view;
}

} // namespace

void run_top(const host_maps &maps, const top_options &options)
{
    const terminal screen;
    sample before = take_sample(maps);
    for (std::uint32_t shown = 0; options.iterations == 0 || shown < options.iterations; ++shown) {
        if (!screen.wait(options.interval_s))
            return;
        sample after = take_sample(maps);
        const json::object view = top_view(maps, before, after);
        screen.show(options.json ? json::serialize(view) + '\n' : top_text(view, screen.lines()));
        before = std::move(after);
    }
}

} // namespace mrc::ctl
