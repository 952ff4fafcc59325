// SPDX-License-Identifier: Apache-2.0
// Closes descriptors that a client sent and nobody keeps. close() may take as long as the client likes (a socket that
// lingers, a file of its own file system), so a thread of its own does it, which begins with the first of them.
#pragma once

#include <cstddef>
#include <memory>

#include "kernel/unique_fd.h"

namespace mrc::service
{

class deferred_close
{
public:
    static constexpr std::size_t most_waiting = 256; // more than one packet can carry

    deferred_close() = default;
    deferred_close(const deferred_close &) = delete;
    deferred_close &operator=(const deferred_close &) = delete;
    ~deferred_close(); // waits for nothing: the thread ends by itself

    // False, and closed later all the same: too many wait already; the client that sends them is to go. Throws
    // std::system_error when there is no thread to be had.
    [[nodiscard]] bool add(kernel::unique_fd descriptor);

private:
    struct queue;
    std::shared_ptr<queue> queue_; // with the thread
};

} // namespace mrc::service
