// SPDX-License-Identifier: Apache-2.0
// One end of a connection between two programs: short messages through a ring in the far end's memory, long transfers
// by WRITEs straight to where the far end wants them. Both in the order in which they were asked for.
//
// It makes no call but to its port, has no lock and no thread: its owner gives it completions and holds a lock. What
// cannot be posted yet, for want of credit or room in the send queue, waits here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/circular_buffer.hpp>

#include "messaging/credit_account.h"
#include "messaging/immediate.h"

namespace mrc::messaging
{

// One WRITE to post. No bytes: only its immediate arrives.
struct write_order {
    std::uint64_t source = 0; // address in this process
    std::uint32_t bytes = 0;
    std::uint32_t lkey = 0;
    std::uint64_t target = 0; // address in the far end's
    std::uint32_t rkey = 0;
    std::optional<std::uint32_t> imm;
};

// What a connection needs of a queue pair.
class write_port
{
public:
    virtual ~write_port() = default;
    // 0, or an errno value: the connection is of no use any more.
    [[nodiscard]] virtual int post_write(const write_order &order) = 0;
    [[nodiscard]] virtual int post_receive() = 0;
    // The far end's WRITEs are refused from now on.
    virtual void abandon() = 0;
};

// What a program learns of a connection. Called with the owner's lock held.
class connection_listener
{
public:
    virtual ~connection_listener() = default;
    virtual void on_connected() = 0;                                       // the far end has connected, too
    virtual void on_message(std::span<const std::byte> message) = 0;       // valid during the call
    virtual void on_arrival(std::uint32_t value, std::uint64_t bytes) = 0; // a long transfer of the far end is here
    virtual void on_closed() = 0;                                          // the far end said farewell
    virtual void on_failure(const std::string &why) = 0;                   // once; nothing follows
    // Whether it matters that the far end is there: then a silent one is asked.
    [[nodiscard]] virtual bool waits() const = 0;
};

struct ring_shape {
    std::uint16_t slots = 64;        // of the ring; as many messages may be under way
    std::uint32_t slot_bytes = 4096; // the longest message

    [[nodiscard]] std::size_t bytes() const { return std::size_t{slots} * slot_bytes; }
    [[nodiscard]] std::uint32_t receives() const { return slots + credit_account::reserve; }
    [[nodiscard]] std::uint32_t sends() const { return slots + 2 * credit_account::reserve; }
};

// Memory of a connection: the ring that the far end fills, and as much to send messages from.
struct ring_memory {
    std::span<std::byte> ring;
    std::span<std::byte> staging;
    std::uint32_t lkey = 0;
};

class ring_connection
{
public:
    using done_function = std::function<void()>;
    // Longer transfers go in pieces: each is an answer that is owed, at 4 Mbit/s within the patience, too.
    static constexpr std::uint32_t longest_write = std::uint32_t{1} << 24;
    static constexpr int patience_ticks = 34;

    ring_connection(write_port &port, const ring_shape &shape, ring_memory memory, connection_listener &listener);

    // Posts the receive requests. False: on_failure was called.
    bool prepare();
    // The queue pair is connected to one whose ring is there.
    void start(const ring_shape &peer, std::uint64_t peer_ring, std::uint32_t peer_rkey);

    // The longest message that both ends take; 0 before start().
    [[nodiscard]] std::uint32_t longest_message() const { return longest_message_; }
    // A message of two parts, together not empty, which are copied. `done` when it is in the far end's memory; may be
    // null.
    void send(std::span<const std::byte> head, std::span<const std::byte> body, done_function done = {});
    // `bytes` from `source` to the far end's `target`, whose listener gets `value` (28 bits). The source must stay as
    // it is until `done`.
    void write(const write_order &whole, std::uint64_t bytes, std::uint32_t value, done_function done);
    // Once a second. A far end that has greeted and owes an answer for patience_ticks is given up; before that it may
    // take its time to connect. One that is silent while somebody waits for it is asked.
    void tick();
    // The last thing that is sent; what waits is dropped.
    void farewell();

    // Completions of the queue pair, in their order.
    void on_write_completed();
    void on_received(std::uint32_t imm, std::uint32_t bytes);
    void fail(const std::string &why); // later calls do nothing
    // The program has gone: its listener and its `done` functions are called no more.
    void detach();

    [[nodiscard]] bool started() const { return started_; }
    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] bool under_way() const { return !posted_.empty(); }        // something waits for the far end's answer
    [[nodiscard]] bool writes_under_way() const { return long_writes_ > 0; } // of the program's memory
    [[nodiscard]] bool farewell_arrived() const { return farewell_arrived_; }

private:
    struct outgoing {
        std::vector<std::byte> message; // or, if empty, a transfer:
        write_order order;
        std::uint64_t left = 0; // bytes
        std::uint32_t value = 0;
        done_function done;
    };

    [[nodiscard]] bool may_post() const;
    void pump();
    void post_message(std::span<const std::byte> head, std::span<const std::byte> body, done_function done);
    void post_piece(outgoing &front);
    void post(const write_order &order, done_function done);
    // To the ring, with nothing in it.
    void post_empty(std::optional<immediate> imm);
    void receive_again();
    void return_credit();
    void consume(immediate what, std::uint32_t bytes);

    write_port &port_;
    ring_shape shape_;
    ring_memory memory_;
    connection_listener *listener_; // null once detached
    bool started_ = false;
    credit_account credit_{0, 0}; // of both ends, once started
    ring_shape peer_shape_;
    std::uint64_t peer_ring_ = 0;
    std::uint32_t peer_rkey_ = 0;
    std::uint32_t longest_message_ = 0;
    std::uint64_t sent_messages_ = 0;
    std::uint64_t received_messages_ = 0;
    std::uint64_t arriving_bytes_ = 0; // pieces of a transfer that is not complete
    std::uint32_t long_writes_ = 0;
    std::deque<outgoing> waiting_;
    boost::circular_buffer<done_function> posted_; // called when the far end has answered; may be null
    bool failed_ = false;
    bool closing_ = false;
    bool greeted_ = false;
    bool farewell_arrived_ = false;
    bool heard_ = false; // since the last tick
    int owed_ticks_ = 0; // without an answer to what is posted
};

} // namespace mrc::messaging
