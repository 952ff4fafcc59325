// SPDX-License-Identifier: Apache-2.0
// What the log says while XDP transmit waits for the kernel's XDP dispatcher. The machine has one, so there is one
// warning of all workers, with the first that gives its calls up, and one line when the last has them back.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "protocol/rate_limit.h"
#include "protocol/types.h"
#include "service/config/config.h"

namespace mrc::service
{

class dispatcher_lines
{
public:
    using line_writer = std::function<void(log_level, const std::string &)>;

    explicit dispatcher_lines(line_writer write, protocol::duration between_lines = std::chrono::minutes{1})
        : write_{std::move(write)}, lines_{between_lines, 1}
    {
    }

    // A worker gives its calls up; `slowest`: how long its last call took.
    void on_given_up(protocol::instant now, protocol::duration slowest);
    // It has them back.
    void on_given_back(protocol::instant now);
    void on_failed_attach();

private:
    line_writer write_;
    protocol::rate_limit lines_;
    unsigned without_ = 0;     // workers
    bool said_ = false;        // that there are such
    std::uint64_t unsaid_ = 0; // times that it was not said, for there had just been a line
    protocol::instant since_;  // when the first gave up
};

} // namespace mrc::service
