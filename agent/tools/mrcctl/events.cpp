// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/events.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <thread>
#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "kernel/event_history.h"
#include "kernel/map_names.h"
#include "kernel/monotonic_clock.h"
#include "service/event_fields.h"
#include "service/event_text.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/json_values.h"
#include "tools/mrcctl/process.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr std::chrono::milliseconds look_interval{100};
constexpr std::uint64_t ns_per_s = 1'000'000'000;

json::value json_of(const service::event_field &field)
{
    if (const auto *number = std::get_if<std::uint64_t>(&field.value))
        return *number;
    if (const auto *words = std::get_if<std::string>(&field.value))
        return json_text(*words);
    return nullptr;
}

void print_event(const mrc_event_row &event, bool as_json)
{
    fmt::print("{}\n", as_json ? json::serialize(event_view(event)) : event_line(event));
}

// The moment, by the monotonic clock, from which on events are shown.
std::uint64_t begin_of(const history_options &options)
{
    if (!options.since_s)
        return 0;
    const auto now = static_cast<std::uint64_t>(kernel::monotonic_now().time_since_epoch().count());
    const auto back = static_cast<std::uint64_t>(*options.since_s * static_cast<double>(ns_per_s));
    return now - std::min(now, back);
}

std::size_t print_new(event_reader &reader, std::uint64_t begin_ns, bool as_json)
{
    const std::uint64_t missed = reader.missed();
    const std::vector<mrc_event_row> events = reader.take();
    if (reader.missed() != missed)
        fmt::print(stderr, "mrcctl: {} events were replaced by others before they could be read\n",
                   reader.missed() - missed);
    std::size_t printed = 0;
    for (const mrc_event_row &event : events)
        if (event.time_ns >= begin_ns) {
            print_event(event, as_json);
            ++printed;
        }
    if (std::fflush(stdout) != 0) // whoever reads a pipe wants them now
        throw ctl_error{"cannot write to standard output"};
    return printed;
}

} // namespace

event_reader::event_reader(const instance &of)
    : host_{of, "host", 1}, rows_{of, "events", std::uint32_t{MRC_EVENT_CLASSES} * MRC_EVENT_ROWS}
{
}

std::vector<mrc_event_row> event_reader::take()
{
    const std::vector<mrc_event_row> drops =
        drops_.take(kernel::last_drop_event(host_.in_place(0)), [this](std::uint64_t row) -> const mrc_event_row & {
            return rows_.in_place(static_cast<std::uint32_t>(row));
        });
    std::vector<mrc_event_row> all;
    std::ranges::merge(take_numbered(), drops, std::back_inserter(all), {}, &mrc_event_row::time_ns,
                       &mrc_event_row::time_ns);
    return all;
}

// All but drops.
std::vector<mrc_event_row> event_reader::take_numbered()
{
    // Later ones are the next call's: some of their rows may not be written yet.
    const std::uint64_t newest = kernel::last_event(host_.in_place(0));
    const bool is_first = !std::exchange(has_looked_, true); // what came before is not missed
    std::vector<mrc_event_row> events;
    if (newest == last_)
        return events;
    for (std::uint32_t row = 0; row < rows_.size(); ++row)
        if (const auto event = kernel::read_event(rows_.in_place(row));
            event && event->number > last_ && event->number <= newest &&
            kernel::class_of(event->kind) != MRC_EVENTS_OF_DROPS)
            events.push_back(*event);
    std::ranges::sort(events, {}, &mrc_event_row::number);
    if (!is_first)
        missed_ += newest - last_ - events.size();
    last_ = newest;
    return events;
}

json::object event_view(const mrc_event_row &event)
{
    const std::uint64_t real_ns = event.real_time_ns;
    json::object view{
        {"number", event.number},
        {"time_ns", event.time_ns},
        {"time",
         json_text(fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(static_cast<std::time_t>(real_ns / ns_per_s)),
                               real_ns % ns_per_s / 1000))},
        {"event", name_in(kernel::event_kind_names, event.kind)},
        {"reason", event.reason == MRC_REASON_NONE ? json::value(nullptr)
                                                   : json::value(name_in(kernel::event_reason_names, event.reason))},
        {"text", json_text(service::line_of(event))}};
    for (const service::event_field &field : service::fields_of(event))
        view[field.name] = json_of(field);
    return view;
}

std::string event_line(const mrc_event_row &event)
{
    const std::uint64_t real_ns = event.real_time_ns;
    return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:06}  {}", fmt::localtime(static_cast<std::time_t>(real_ns / ns_per_s)),
                       real_ns % ns_per_s / 1000, service::line_of(event));
}

int print_history(const host_maps &maps, const history_options &options)
{
    event_reader reader{maps.of()};
    const std::uint64_t begin_ns = begin_of(options);
    const std::size_t printed = print_new(reader, begin_ns, options.json);
    if (!options.follow) {
        if (printed == 0 && !options.json)
            fmt::print("no events\n");
        return 0;
    }
    while (look_at_daemon(maps.host()).alive) {
        std::this_thread::sleep_for(look_interval);
        print_new(reader, begin_ns, options.json);
    }
    print_new(reader, begin_ns, options.json); // the last ones
    fmt::print(stderr, "mrcctl: mrcd of instance '{}' has ended\n", maps.of().name);
    return 1;
}

} // namespace mrc::ctl
