// SPDX-License-Identifier: Apache-2.0
// A thread that has the TCP connections of a fabric's endpoints go on: none of libfabric's calls waits for them.
//
// Its lock comes before that of messaging::fabric_endpoint.
#pragma once

#include <chrono>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include <poll.h>

#include "fi_provider/queues.h"

namespace mrc::fi_provider
{

// Called by the manager's thread, with its lock held.
class managed
{
public:
    using clock = std::chrono::steady_clock;

    virtual ~managed() = default;
    // Adds what it waits for; makes `due` earlier.
    virtual void wants(std::vector<pollfd> &descriptors, clock::time_point &due) = 0;
    // Something has come, of this or of another; it never blocks.
    virtual void proceed(clock::time_point now) = 0;
};

class connection_manager
{
public:
    connection_manager();
    connection_manager(const connection_manager &) = delete;
    connection_manager &operator=(const connection_manager &) = delete;
    ~connection_manager();

    [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock{mutex_}; }
    // With the lock held.
    void add(managed &what);
    void remove(managed &what);

private:
    void run(const std::stop_token &stop);

    std::mutex mutex_;
    std::vector<managed *> all_;
    wait_fd wake_;
    std::jthread thread_;
};

} // namespace mrc::fi_provider
