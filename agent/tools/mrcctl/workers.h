// SPDX-License-Identifier: Apache-2.0
// What the daemon's workers do, and how long packets wait for them: the rows of map `workers` as JSON.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

// Counters since the daemon began; of `lag`, the time that packets waited: what half of them, and 99 in 100, are below.
[[nodiscard]] boost::json::array workers_of(const host_maps &maps);
// Beside the counters what they have grown by: "load_ratio" and "waited_ratio" of one processor's time, null where the
// daemon has not looked at it in between; "rx_packets_per_s"; the lag of packets in between.
[[nodiscard]] boost::json::object worker_rates(std::uint32_t number, const mrc_worker_row &before,
                                               const mrc_worker_row &after, double seconds);

[[nodiscard]] std::string workers_text(const boost::json::array &workers);
[[nodiscard]] std::string worker_rates_text(const boost::json::array &workers);

} // namespace mrc::ctl
