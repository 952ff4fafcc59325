// SPDX-License-Identifier: Apache-2.0
// Gloo's older buffers, each bound to a pair and a slot: what is sent lands in the far end's receive buffer of the same
// slot, at the offset that the sender chooses. Some of Gloo's algorithms on these buffers change what they have sent
// without waiting, as its TCP mostly lets them: so short sends are copied, and a long one, a WRITE, is complete when
// send() returns.
//
// A slot has one send and one receive buffer at a time. A receive buffer that goes is not guarded: until the far end
// learns of it, it may still write into its memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include <gloo/transport/buffer.h>

#include "gloo_adapter/messages.h"
#include "messaging/fabric_endpoint.h"

namespace mrc::gloo_adapter
{

class gloo_pair;

class bound_buffer : public gloo::transport::Buffer
{
public:
    bound_buffer(gloo_pair &pair, int slot, void *address, std::size_t bytes, bool receives);
    bound_buffer(const bound_buffer &) = delete;
    bound_buffer &operator=(const bound_buffer &) = delete;
    ~bound_buffer() override;

    void send(std::size_t offset, std::size_t bytes, std::size_t peer_offset) override;
    void waitRecv() override; // throws gloo::IoException
    void waitSend() override; // throws gloo::IoException

private:
    friend class bound_buffers;
    struct request {
        std::size_t offset;
        std::size_t bytes;
        std::size_t peer_offset;
        std::vector<std::byte> copy; // of a short one
    };
    // False: the context's time-out is over.
    template <typename Ready>
    [[nodiscard]] bool wait_until(messaging::fabric_endpoint::lock_type &held, const Ready &ready);
    // Throws gloo::IoException then.
    template <typename Ready>
    void wait_in_time(messaging::fabric_endpoint::lock_type &held, const char *what, const Ready &ready);
    template <typename Ready>
    void wait(std::uint64_t &count, const char *what, const Ready &ready);
    // Nothing reads the memory, or will.
    [[nodiscard]] bool is_read() const;

    gloo_pair &pair_;
    bool receives_;
    std::uint32_t id_ = 0;
    messaging::held_range memory_;
    std::deque<request> waiting_; // for the far end's buffer
    std::uint64_t under_way_ = 0; // sends that are posted and not complete: they read this buffer's memory
    std::uint64_t sent_ = 0;      // and not waited for yet
    std::uint64_t received_ = 0;  // and not waited for yet
};

// Those of one pair. With the lock held.
class bound_buffers
{
public:
    explicit bound_buffers(gloo_pair &pair) : pair_{pair} {}

    [[nodiscard]] bool receives() const { return !own_.empty(); }
    [[nodiscard]] bool knows(std::uint32_t id) const { return own_.contains(id); }
    [[nodiscard]] bool waits() const { return waiting_ > 0; } // somebody waits for the far end
    void on_message(const message_head &head);
    void on_arrival(std::uint32_t id);
    // False: it is for no buffer of this end.
    [[nodiscard]] bool on_data(const message_head &head, std::span<const std::byte> bytes);
    // The far end sends nothing more and takes nothing new; what is under way completes, or fails.
    void on_closed();
    // Neither end reaches the memory of the other any more.
    void on_over();

private:
    friend class bound_buffer;
    void add(bound_buffer &one);
    void remove(bound_buffer &one);
    void post(bound_buffer &from, const bound_buffer::request &what, const message_head &target);

    gloo_pair &pair_;
    std::map<std::uint32_t, bound_buffer *> own_;         // that receive, by id
    std::map<std::uint64_t, bound_buffer *> senders_;     // by slot
    std::map<std::uint64_t, message_head> peers_buffers_; // by slot
    std::condition_variable changed_;                     // anything that a buffer waits for
    unsigned waiting_ = 0;                                // threads
    bool closed_ = false;
    bool over_ = false;
};

} // namespace mrc::gloo_adapter
