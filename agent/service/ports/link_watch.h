// SPDX-License-Identifier: Apache-2.0
// Follows the ports on a thread of its own: the loss of a port waits for no client's request.
#pragma once

#include <functional>
#include <thread>

#include "kernel/unique_fd.h"

namespace mrc::service
{

class link_watch
{
public:
    // `readable` is borrowed (link_monitor's); `on_readable` reads it, on the thread.
    link_watch(int readable, std::function<void()> on_readable);
    link_watch(const link_watch &) = delete;
    link_watch &operator=(const link_watch &) = delete;
    ~link_watch(); // ends the thread

    // Throws startup_error.
    void start();

private:
    void run() const;

    int readable_;
    std::function<void()> on_readable_;
    kernel::unique_fd stop_; // readable: the thread ends
    std::thread thread_;
};

} // namespace mrc::service
