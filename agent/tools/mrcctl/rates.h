// SPDX-License-Identifier: Apache-2.0
// What went on between two looks at the maps.
#pragma once

#include <map>

#include <boost/json/object.hpp>

#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

struct sample {
    std::uint64_t time_ns = 0; // CLOCK_MONOTONIC
    std::map<std::uint32_t, mrc_qp_row> qps;
    mrc_port_row ports[MRC_MAX_PORTS] = {};
    verdict_counts verdicts;
};

[[nodiscard]] sample take_sample(const host_maps &maps);

// What a counter has grown by; one that went back belongs to a QP, path or port that began anew: it counts from zero.
[[nodiscard]] inline std::uint64_t grown(std::uint64_t before, std::uint64_t after)
{
    return after >= before ? after - before : after;
}
// The same per second.
[[nodiscard]] double rate_between(std::uint64_t before, std::uint64_t after, double seconds);

// Their views, with rates beside the counters.
[[nodiscard]] boost::json::object plane_rates(std::uint32_t plane, const mrc_port_row &before,
                                              const mrc_port_row &after, double seconds);
[[nodiscard]] boost::json::object qp_rates(const mrc_qp_row &before, const mrc_qp_row &after, double seconds);

// {"seconds", "planes": [per port], "qps": [per QP, the busiest first]}
[[nodiscard]] boost::json::object rates_view(const sample &before, const sample &after);
// {"seconds", "verdicts": {name: packets in between}}
[[nodiscard]] boost::json::object difference_view(const sample &before, const sample &after);

} // namespace mrc::ctl
