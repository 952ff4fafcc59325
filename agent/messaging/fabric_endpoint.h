// SPDX-License-Identifier: Apache-2.0
// A host's mrcd as programs that exchange messages use it: the device, registered memory, connections, and a thread
// that gives completions to them.
//
// One lock stands for all: whoever calls a connection, or anything here but open(), holds it; listeners are called with
// it held.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>

#include "kernel/unique_fd.h"
#include "messaging/gid_text.h"
#include "messaging/handles.h"
#include "messaging/registration_cache.h"
#include "messaging/ring_connection.h"
#include "messaging/verbs_queue.h"

namespace mrc::messaging
{

// A connection with what it is made of.
class fabric_connection
{
public:
    fabric_connection(const fabric_connection &) = delete;
    fabric_connection &operator=(const fabric_connection &) = delete;
    ~fabric_connection();

    [[nodiscard]] const peer_address &address() const { return address_; } // to give to the far end
    [[nodiscard]] ring_connection &ring() { return ring_; }

private:
    friend class fabric_endpoint;
    struct shared_memory;
    fabric_connection(std::unique_ptr<shared_memory> memory, std::unique_ptr<verbs_queue> queue,
                      const ring_shape &shape, connection_listener &listener);

    std::unique_ptr<shared_memory> memory_; // outlives the queue pair
    std::unique_ptr<verbs_queue> queue_;
    peer_address address_;
    ring_connection ring_;
    std::chrono::steady_clock::time_point close_by_; // once it is closing
    std::function<void()> after_;                    // called then
    bool quick_ = false;                             // then not for the far end's farewell, either
};

class fabric_endpoint
{
public:
    using clock = std::chrono::steady_clock;
    using lock_type = std::unique_lock<std::mutex>;

    // The only device, or the one that MRC_INSTANCE names. Throws messaging_failure.
    explicit fabric_endpoint(const ring_shape &shape = {});
    fabric_endpoint(const fabric_endpoint &) = delete;
    fabric_endpoint &operator=(const fabric_endpoint &) = delete;
    ~fabric_endpoint(); // waits for farewells, a second at most

    [[nodiscard]] lock_type lock() { return lock_type{mutex_}; }
    [[nodiscard]] const std::string &text() const { return text_; } // "mrc0 (fd6d:7263::1:1)"

    // Waiting for the far end begins with connect(). Throws messaging_failure. The listener outlives close().
    [[nodiscard]] fabric_connection *open(connection_listener &listener);
    // False, and the listener is told: the address cannot be reached, or mrcd is gone.
    bool connect(fabric_connection &connection, const peer_address &peer);
    // No call to the listener any more. What has been sent is delivered, for a second at most.
    void close(fabric_connection *connection);
    // As close(), but when it returns neither end reaches the memory of the other: the farewells get a fifth of a
    // second, during which the lock is free. Those that somebody else closes or cuts meanwhile are waited for.
    void cut(std::span<fabric_connection *const> connections, lock_type &lock);
    // As cut(), but does not wait: `after` is called once it is done.
    void cut_later(fabric_connection *connection, std::function<void()> after);

    // For a thread that looks again and again for what may have come, and does not hold the lock: it brings it itself,
    // and while it does the endpoint's own thread leaves it that, so that nobody has to be woken. Once it stops looking
    // that thread takes over, after a millisecond at most; at once after stop_polling(), for who goes to sleep.
    void poll();
    void stop_polling();

    [[nodiscard]] registration_cache &registrations() { return cache_; }
    // Memory that the far end may write, of exactly these bytes, by a key of its own: until the last holder lets it go.
    // Null with errno: it cannot be registered.
    [[nodiscard]] held_range register_apart(const void *address, std::size_t bytes);

private:
    using connection_list = std::list<std::unique_ptr<fabric_connection>>;

    void run(const std::stop_token &stop);
    void take_events();
    void check_device();
    void begin_closing(fabric_connection *connection, clock::duration limit, bool quick);
    void end_closing(clock::time_point now);
    void tick(clock::time_point now);
    [[nodiscard]] int wait_ms(clock::time_point now);
    void wake() const;
    [[nodiscard]] bool register_range(registered_range &range);

    ring_shape shape_;
    std::mutex mutex_;
    std::condition_variable closed_;
    owned_verbs verbs_;
    owned_pd pd_;
    owned_context context_;
    owned_channel channel_;
    int channel_fd_ = -1;
    kernel::unique_fd wake_;
    gid_bytes gid_{};
    std::string text_;
    registration_cache cache_;
    std::unordered_map<mrc_cq *, fabric_connection *> by_queue_; // of open_ and closing_
    connection_list open_;
    connection_list closing_;
    clock::time_point next_tick_;
    bool gone_ = false;
    std::atomic<bool> polled_ = false; // since the own thread looked last
    std::atomic<bool> aside_ = false;  // it leaves events to who polls
    std::jthread thread_;
};

} // namespace mrc::messaging
