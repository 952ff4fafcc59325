// SPDX-License-Identifier: Apache-2.0
// One host that is looked at again and again: its maps, which a daemon that starts anew makes anew, and the past that
// rates need.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/mrc-view/fabric.h"
#include "tools/mrcctl/events.h"

namespace mrc::view
{

class host_watch
{
public:
    host_watch(std::string name, std::string instance) : name_{std::move(name)}, instance_{std::move(instance)} {}

    // Throws nothing: what is wrong stands in problem().
    void look();

    [[nodiscard]] const std::string &name() const { return name_; }
    [[nodiscard]] const std::string &instance() const { return instance_; }
    // One line; empty: the daemon runs, and the rows are new.
    [[nodiscard]] const std::string &problem() const { return problem_; }
    [[nodiscard]] bool has_rows() const { return !rows_.empty(); }
    // "running", "stopped", "dead"; "gone": its maps are not there, or cannot be read.
    [[nodiscard]] std::string state() const;
    // Valid until the next look; has_rows() must hold.
    [[nodiscard]] host_look latest() const;
    // Events since the last call, as they are shown.
    [[nodiscard]] std::vector<boost::json::object> take_events();

private:
    void open_anew();
    void take(const ctl::host_maps &maps);

    std::string name_;
    std::string instance_;
    std::string problem_{};
    bool is_readable_ = false;
    std::optional<ctl::host_maps> maps_{};
    std::uint64_t started_ns_ = 0; // of the daemon whose rows and events these are
    std::optional<ctl::event_reader> events_{};
    std::deque<host_rows> rows_{}; // the oldest first
};

} // namespace mrc::view
