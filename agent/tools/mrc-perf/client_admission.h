// SPDX-License-Identifier: Apache-2.0
// Which clients a server serves: one after the other. A thread of its own accepts connections, so that a client that
// comes while another is served learns at once that the server is busy.
//
// A client whose predecessors have all closed their connections waits its turn instead: their runs are over, whether or
// not the server has noticed. So one program after the other finds the server free.
#pragma once

#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "kernel/unique_fd.h"
#include "tools/mrc-perf/channel.h"

namespace mrc::perf
{

class client_admission
{
public:
    explicit client_admission(listener socket);
    client_admission(const client_admission &) = delete;
    client_admission &operator=(const client_admission &) = delete;
    ~client_admission();

    // Readable when next() has a client.
    [[nodiscard]] int fd() const { return arrived_.get(); }
    // The client that is served from now on; null: none waits. It lives until release().
    [[nodiscard]] channel *next();
    void release();

private:
    struct refused {
        channel client;
        std::chrono::steady_clock::time_point give_up_at;
    };

    void run();
    void admit(channel client);
    void refuse(channel client, const std::string &served);
    void close_refused();

    listener socket_;
    kernel::unique_fd arrived_; // a semaphore: as many as wait
    kernel::unique_fd stop_;
    std::vector<refused> refused_; // the thread's own

    std::mutex lock_; // of what follows
    std::optional<channel> served_;
    std::deque<channel> waiting_;

    std::jthread thread_;
};

} // namespace mrc::perf
