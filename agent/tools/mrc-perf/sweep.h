// SPDX-License-Identifier: Apache-2.0
// Reports of a sweep: a table in the manner of perftest, and one JSON object for all runs.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/mrc-perf/options.h"

namespace mrc::perf
{

[[nodiscard]] std::string table_head(const test_plan &plan);
[[nodiscard]] std::string table_line(const boost::json::object &report);

// `sweep` has the reports of all runs; around it, sums of them, and the status of the last. Of a plan that is no sweep,
// its only report.
[[nodiscard]] boost::json::object combine(const test_plan &plan, const std::vector<boost::json::object> &reports);

} // namespace mrc::perf
