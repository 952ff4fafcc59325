// SPDX-License-Identifier: Apache-2.0
// The report of a run: one JSON object, and the same for reading.
#pragma once

#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tools/mrc-perf/exchange.h"
#include "tools/mrc-perf/run.h"

namespace mrc::perf
{

struct report_context {
    const test_plan &plan;
    const side &local;
    const side &peer;
    bool is_client = false;
    std::string file;
    boost::json::array intervals;
    std::string status = "ok"; // perf_error::status()
    std::string error;         // why the run ended early
};

[[nodiscard]] boost::json::object make_report(const report_context &context, const run_parts &parts);
[[nodiscard]] std::string to_text(const boost::json::object &report);
// 0 when the run did all that was asked and every byte that was looked at was right; 130 when it was interrupted.
[[nodiscard]] int exit_status(const boost::json::object &report);

} // namespace mrc::perf
