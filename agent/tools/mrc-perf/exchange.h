// SPDX-License-Identifier: Apache-2.0
// What the two ends exchange over TCP before a run: the plan, addresses, queue pairs, keys.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/json/object.hpp>
#include <infiniband/verbs.h>

#include "tools/mrc-perf/options.h"

namespace mrc::perf
{

struct qp_identity {
    std::uint32_t qpn = 0;
    std::uint32_t first_psn = 0;
};

// One end of a run: where its packets come from, and the memory that the other end may write.
struct side {
    ibv_gid gid{};
    std::uint32_t payload_bytes = 0; // of its full packets; 0: not connected yet
    std::uint64_t remote_va = 0;
    std::uint32_t rkey = 0;
    std::vector<qp_identity> qps;
};

[[nodiscard]] boost::json::object to_json(const test_plan &plan);
[[nodiscard]] boost::json::object to_json(const side &end);
// Both throw perf_error that names the member which is missing or out of range.
[[nodiscard]] test_plan plan_from(const boost::json::object &object);
[[nodiscard]] side side_from(const boost::json::object &object, std::uint32_t qps);

} // namespace mrc::perf
