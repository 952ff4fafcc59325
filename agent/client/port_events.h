// SPDX-License-Identifier: Apache-2.0
// Asynchronous events of a host, from a session: ports that go up and down, and the daemon's end.
//
// The session's event_fd says only that something has happened; what it was is the difference between two
// descriptions. It is never read: an edge-triggered epoll descriptor watches it, so that any number of contexts on one
// session see each event, each at its own pace.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "client/daemon_channel.h"

namespace mrc::client
{

struct host_event {
    enum class kind : std::uint8_t { port_up, port_down, daemon_gone } what;
    int port = 0; // from 1
};

class port_events
{
public:
    // `known`: ports as the caller's first description has them. Throws std::system_error when descriptors run out.
    port_events(std::shared_ptr<daemon_channel> daemon, std::vector<host_port> known);
    ~port_events();
    port_events(const port_events &) = delete;
    port_events &operator=(const port_events &) = delete;

    // Readable while next() may have something, or a source that was added; its O_NONBLOCK flag is wait()'s.
    [[nodiscard]] int fd() const { return epoll_; }

    // A descriptor of somebody else's events, read elsewhere. Throws std::system_error.
    void add_source(int descriptor);
    void remove_source(int descriptor);

    // Does not block.
    [[nodiscard]] std::optional<host_event> next();

    // Until fd() is readable, or EAGAIN. EINTR on signals.
    [[nodiscard]] result<void> wait() const;

private:
    void look(); // asks the daemon, if there is something to ask
    void push(host_event event);

    std::shared_ptr<daemon_channel> daemon_;
    int epoll_;
    int waiting_; // eventfd, readable while queue_ has events: the edge alone would be over with the first
    std::mutex mutex_;
    std::vector<host_port> known_;
    std::deque<host_event> queue_;
    bool gone_reported_ = false;
};

} // namespace mrc::client
