// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/host_watch.h"

#include <exception>
#include <iterator>
#include <utility>

#include "tools/mrcctl/json_text.h"

namespace mrc::view
{

namespace
{

constexpr std::size_t most_looks = 9; // losses are those of two seconds, at four looks a second

} // namespace

void host_watch::look()
{
    try {
        // The maps of a daemon that has ended stay readable, but a new daemon writes into others.
        if (!maps_ || (!rows_.empty() && !rows_.back().daemon.alive))
            open_anew();
        if (maps_)
            take(*maps_);
    } catch (const std::exception &error) {
        maps_.reset(); // whatever is wrong, what is there next may be another daemon's
        is_readable_ = false;
        problem_ = error.what();
        if (rows_.size() > 1) // nothing goes on any more that is known
            rows_.erase(rows_.begin(), std::prev(rows_.end()));
    }
}

void host_watch::open_anew()
{
    ctl::host_maps found{ctl::choose_instance(instance_, "")};
    const std::uint64_t started_ns = found.host().started_ns;
    if (started_ns != started_ns_) {
        events_.emplace(found.of());
        rows_.clear();
    }
    started_ns_ = started_ns;
    maps_.emplace(std::move(found));
}

void host_watch::take(const ctl::host_maps &maps)
{
    rows_.push_back(take_rows(maps));
    if (rows_.size() > most_looks)
        rows_.pop_front();
    is_readable_ = true;
    problem_ = ctl::state_remark(instance_, rows_.back().daemon);
}

std::string host_watch::state() const
{
    return is_readable_ ? std::string{rows_.back().daemon.state} : "gone";
}

host_look host_watch::latest() const
{
    const host_rows &now = rows_.back();
    const host_rows &before = rows_.size() > 1 ? rows_[rows_.size() - 2] : now;
    return {.place = place_of(name_, now), .long_ago = &rows_.front(), .before = &before, .now = &now};
}

std::vector<boost::json::object> host_watch::take_events()
{
    std::vector<boost::json::object> views;
    if (!is_readable_ || !events_)
        return views;
    for (const mrc_event_row &row : events_->take()) {
        boost::json::object view = ctl::event_view(row);
        view["host"] = ctl::json_text(name_);
        views.push_back(std::move(view));
    }
    return views;
}

} // namespace mrc::view
