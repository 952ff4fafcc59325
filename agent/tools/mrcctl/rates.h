// SPDX-License-Identifier: Apache-2.0
// What went on between two looks at the maps.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

struct sample {
    std::uint64_t time_ns = 0; // CLOCK_MONOTONIC
    std::map<std::uint32_t, mrc_qp_row> qps;
    mrc_port_row ports[MRC_MAX_PORTS] = {};
    mrc_worker_row workers[MRC_MAX_WORKERS] = {};
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

// Null where there is nothing to be a part of; of what was sent before, more may have been lost since than was sent.
[[nodiscard]] boost::json::value ratio_or_null(std::uint64_t part, std::uint64_t whole);

// Their views, with rates beside the counters.
[[nodiscard]] boost::json::object plane_rates(std::uint32_t plane, const mrc_port_row &before,
                                              const mrc_port_row &after, double seconds);
[[nodiscard]] boost::json::object qp_rates(const mrc_qp_row &before, const mrc_qp_row &after, double seconds);

// Which queue pairs come first: the busiest, those that lose most, those with the longest round trip, the least number.
enum class qp_order : std::uint8_t { rate, loss, rtt, qpn };
inline constexpr auto qp_order_names = std::to_array<std::string_view>({"rate", "loss", "rtt", "qpn"});

void sort_qps(boost::json::object &view, qp_order by); // of rates_view()
// {"seconds", "planes": [per port], "workers": [each], "qps": [per QP]}
[[nodiscard]] boost::json::object rates_view(const sample &before, const sample &after, qp_order by = qp_order::rate);
// {"seconds", "verdicts": {name: packets in between}}
[[nodiscard]] boost::json::object difference_view(const sample &before, const sample &after);

} // namespace mrc::ctl
