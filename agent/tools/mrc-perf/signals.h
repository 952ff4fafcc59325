// SPDX-License-Identifier: Apache-2.0
// Signals as something to poll: SIGINT and SIGTERM end a run in order, SIGUSR1 marks a new phase.
#pragma once

#include <optional>

#include "kernel/unique_fd.h"

namespace mrc::perf
{

class signal_source
{
public:
    signal_source(); // blocks them for the whole process
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::optional<int> take();

private:
    kernel::unique_fd fd_;
};

} // namespace mrc::perf
