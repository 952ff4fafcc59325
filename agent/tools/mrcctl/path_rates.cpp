// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/path_rates.h"

#include <algorithm>
#include <utility>

#include <boost/json/object.hpp>

#include "kernel/map_names.h"
#include "tools/mrcctl/json_values.h"
#include "tools/mrcctl/rates.h"
#include "tools/mrcctl/timed_lease.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

struct path_story {
    std::uint64_t retirements = 0;
    mrc_event_row last{};
};

bool is_change_of_path(const mrc_event_row &event)
{
    return event.kind >= MRC_EVENT_PATH_GOOD && event.kind <= MRC_EVENT_PATH_DENIED;
}

// Of rows that had another path before, only what is of this one.
path_story story_of(std::uint32_t number, const mrc_path_row &path, std::span<const mrc_event_row> events)
{
    path_story story;
    for (const mrc_event_row &event : events) {
        if (!is_change_of_path(event) || event.path != number || event.plane != path.plane ||
            event.uplink != path.uplink)
            continue;
        story.retirements += event.kind == MRC_EVENT_PATH_ASSUMED_BAD ? 1 : 0;
        story.last = event;
    }
    return story;
}

json::object rates_of(std::uint32_t number, const path_sample::rows &before, const path_sample::rows &after,
                      double seconds)
{
    json::object view = path_view(number, after.path, after.signal);
    view["tx_packets_per_s"] = rate_between(before.path.tx_packets, after.path.tx_packets, seconds);
    view["tx_bits_per_s"] = 8 * rate_between(before.path.tx_bytes, after.path.tx_bytes, seconds);
    view["rx_packets_per_s"] = rate_between(before.signal.packets, after.signal.packets, seconds);
    view["rx_bits_per_s"] = 8 * rate_between(before.signal.bytes, after.signal.bytes, seconds);
    view["loss_ratio"] = ratio_or_null(grown(before.path.losses, after.path.losses),
                                       grown(before.path.tx_packets, after.path.tx_packets));
    return view;
}

double number_at(const json::value &path, std::string_view key)
{
    const json::value &value = path.at({key.data(), key.size()});
    return value.is_null() ? 0 : value.to_number<double>();
}

} // namespace

path_sample take_path_sample(const host_maps &maps, const path_filter &wanted)
{
    path_sample taken{.time_ns = lease_clock(), .paths = {}};
    for_each_path(maps, wanted, [&](std::uint32_t number, const mrc_path_row &row) {
        taken.paths.emplace(number, path_sample::rows{.path = row, .signal = maps.signals()[number]});
    });
    return taken;
}

json::array path_rates(const path_sample &before, const path_sample &after, std::span<const mrc_event_row> events)
{
    const double seconds = static_cast<double>(after.time_ns - before.time_ns) * 1e-9;
    json::array all;
    for (const auto &[number, rows] : after.paths) {
        const auto earlier = before.paths.find(number);
        const bool is_known = earlier != before.paths.end();
        json::object view = rates_of(number, is_known ? earlier->second : path_sample::rows{}, rows, seconds);
        const path_story story = story_of(number, rows.path, events);
        const bool has_changed = story.last.time_ns != 0;
        view["retirements"] = story.retirements;
        view["changed_ns"] = has_changed ? json::value(story.last.time_ns) : json::value(nullptr);
        view["unchanged_for_ns"] =
            has_changed ? json::value(after.time_ns - std::min(after.time_ns, std::uint64_t{story.last.time_ns}))
                        : json::value(nullptr);
        view["changed_for"] =
            has_changed ? json::value(name_in(kernel::event_reason_names, story.last.reason)) : json::value(nullptr);
        all.push_back(std::move(view));
    }
    return all;
}

json::array worst_paths(json::array paths, std::size_t most)
{
    const auto carries = [](const json::value &path) { return number_at(path, "tx_packets_per_s") > 0; };
    json::array carrying;
    std::ranges::copy_if(paths, std::back_inserter(carrying), carries);
    std::ranges::stable_sort(carrying, [](const json::value &a, const json::value &b) {
        const auto badness = [](const json::value &path) {
            return std::pair{number_at(path, "loss_ratio"), number_at(path, "rtt_smoothed_ns")};
        };
        return badness(a) > badness(b);
    });
    carrying.resize(std::min(most, carrying.size()));
    return carrying;
}

} // namespace mrc::ctl
