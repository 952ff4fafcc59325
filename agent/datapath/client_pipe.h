// SPDX-License-Identifier: Apache-2.0
// How the daemon tells a client something that it did not ask for.
#pragma once

#include <utility>

#include <unistd.h>

#include "kernel/unique_fd.h"
#include "session/work_ring.h"

namespace mrc::datapath
{

// The daemon's end of a pipe whose other end a client holds. A pipe, not an eventfd: each end has its own flags, so no
// client can make a write block. What does not fit is lost: the client does not read.
class client_pipe
{
public:
    explicit client_pipe(kernel::unique_fd end) : end_{std::move(end)} {}
    void notify(const session::event_record &event) const
    {
        [[maybe_unused]] const ssize_t written = ::write(end_.get(), &event, sizeof(event));
    }

private:
    kernel::unique_fd end_;
};

} // namespace mrc::datapath
