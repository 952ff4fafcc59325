// SPDX-License-Identifier: Apache-2.0
// The history of transitions that a daemon keeps in its map `events`: what happened, when and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "kernel/event_history.h"
#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

struct history_options {
    std::optional<double> since_s; // only of the last so many seconds
    bool follow = false;           // and those that come, until interrupted or the daemon ends
    bool json = false;
};

// Reads the map; the daemon need not answer, and other readers lose nothing.
class event_reader
{
public:
    explicit event_reader(const instance &of);

    // Those that are new since the last call: by their numbers, those of drops in between by their times.
    [[nodiscard]] std::vector<mrc_event_row> take();
    // Events that others had taken the place of before take() came to them.
    [[nodiscard]] std::uint64_t missed() const { return missed_ + drops_.missed(); }

private:
    [[nodiscard]] std::vector<mrc_event_row> take_numbered();

    pinned_array<mrc_host_row> host_;
    pinned_array<mrc_event_row> rows_;
    std::uint64_t last_ = 0; // number
    kernel::drop_reader drops_;
    bool has_looked_ = false;
    std::uint64_t missed_ = 0; // of all but drops
};

[[nodiscard]] boost::json::object event_view(const mrc_event_row &event);
// "2026-11-26 02:47:11.123456  plane 1 to leaf 4 (3 paths): out of use, packets are lost", local time.
[[nodiscard]] std::string event_line(const mrc_event_row &event);

// Prints a line per event. The exit status: 1 when the daemon has ended while it followed. Throws ctl_error.
[[nodiscard]] int print_history(const host_maps &maps, const history_options &options);

} // namespace mrc::ctl
