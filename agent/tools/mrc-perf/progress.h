// SPDX-License-Identifier: Apache-2.0
// Progress of a run on standard error: lines for reading, or JSON lines.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tools/mrc-perf/options.h"
#include "tools/mrc-perf/stream.h"

namespace mrc::perf
{

class progress_lines
{
public:
    progress_lines(const test_plan &plan, bool as_json);

    void start(); // JSON: {"event":"start","monotonic_ns":…}, to which all t_ms refer
    void show(const boost::json::object &sample, const traffic &sender);
    [[nodiscard]] const boost::json::array &samples() const { return samples_; }

private:
    const test_plan &plan_;
    bool json_;
    bool on_terminal_; // one line that is written over
    boost::json::array samples_;
};

} // namespace mrc::perf
