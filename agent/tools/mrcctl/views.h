// SPDX-License-Identifier: Apache-2.0
// What the maps say, as JSON: `mrcctl -j` prints it as it is, and text.h makes tables of it. Names carry their
// units; times are CLOCK_MONOTONIC nanoseconds, as in the maps; null: does not exist, or none yet.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tools/mrcctl/maps.h"
#include "tools/mrcctl/process.h"

namespace mrc::ctl
{

// Numbers of `paths` rows: those that a peer's packets may take, or all.
struct path_range {
    std::uint32_t first = 1;           // row 0 counts packets of unknown paths
    std::uint32_t end = MRC_MAX_PATHS; // those beyond the map are none
};

struct path_filter {
    path_range range{};
    std::optional<std::uint32_t> plane{};
    std::optional<mrc_path_state> state{};
};

[[nodiscard]] inline bool is_wanted(const mrc_path_row &row, const path_filter &wanted)
{
    return row.state != MRC_PATH_UNUSED && (!wanted.plane || row.plane == *wanted.plane) &&
           (!wanted.state || row.state == *wanted.state);
}

// visit(number, row) for each path in use that is wanted.
template <typename Visit>
void for_each_path(const host_maps &maps, const path_filter &wanted, Visit visit)
{
    const std::uint32_t end = std::min(wanted.range.end, maps.paths().size());
    for (std::uint32_t number = wanted.range.first; number < end; ++number)
        if (const mrc_path_row row = maps.paths()[number]; is_wanted(row, wanted))
            visit(number, row);
}

// Counters of a `qps` row that only grow, with the row's own names.
struct qp_counter {
    const char *name;
    __u64 mrc_qp_row::*value;
};
[[nodiscard]] std::span<const qp_counter> qp_counters();

[[nodiscard]] boost::json::object qp_view(const mrc_qp_row &row);
// `now_ns`: CLOCK_MONOTONIC.
[[nodiscard]] boost::json::object client_view(std::uint32_t session, const mrc_client_row &row, std::uint64_t now_ns);
[[nodiscard]] boost::json::object port_view(std::uint32_t plane, const mrc_port_row &row);
[[nodiscard]] boost::json::object path_view(std::uint32_t number, const mrc_path_row &row,
                                            const mrc_signal_row &signal);
// Every verdict by its name.
[[nodiscard]] boost::json::object verdicts_view(const verdict_counts &counts);

// Programs that are connected, by session.
[[nodiscard]] boost::json::array clients_of(const host_maps &maps);
// One of them, with its queue pairs and their workers. Throws ctl_error when there is none of this session.
[[nodiscard]] boost::json::object client_of(const host_maps &maps, std::uint32_t session);
// With the client that each belongs to.
[[nodiscard]] boost::json::array qps_of(const host_maps &maps);
// One QP, with its client and the states of the paths toward its peer. Throws ctl_error when there is none of this
// number.
[[nodiscard]] boost::json::object qp_of(const host_maps &maps, std::uint32_t qpn);
[[nodiscard]] boost::json::array ports_of(const host_maps &maps);
[[nodiscard]] boost::json::array paths_of(const host_maps &maps, const path_filter &wanted);
// Throws ctl_error when no path has this row.
[[nodiscard]] boost::json::object path_of(const host_maps &maps, std::uint32_t number);
[[nodiscard]] boost::json::object status_of(const host_maps &maps);

// Number of paths by state.
[[nodiscard]] boost::json::object count_paths(const host_maps &maps, const path_filter &wanted);
// Those that packets to this peer may take.
[[nodiscard]] path_range range_of(const mrc_peer_row &peer);
// `named`: by address or name. Throws ctl_error for one that is no peer's.
[[nodiscard]] path_range paths_toward(const host_maps &maps, const std::string &named);

} // namespace mrc::ctl
