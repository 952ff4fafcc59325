// SPDX-License-Identifier: Apache-2.0
// How far a run is, on standard error: a bar on a terminal, a line every few seconds elsewhere, nothing within the
// first second.
#pragma once

#include <chrono>
#include <string>

namespace mrc::tools
{

class sim_progress
{
public:
    sim_progress(std::string name, bool quiet);
    sim_progress(const sim_progress &) = delete;
    sim_progress &operator=(const sim_progress &) = delete;
    ~sim_progress(); // takes the bar away

    void show(const std::string &label, double share);

private:
    using clock = std::chrono::steady_clock;

    std::string name_;
    bool quiet_;
    bool terminal_;
    bool drawn_ = false;
    clock::time_point shown_at_;
};

} // namespace mrc::tools
