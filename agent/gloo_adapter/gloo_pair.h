// SPDX-License-Identifier: Apache-2.0
// Gloo's pair: one rank's connection with one other, and what each slot waits for.
//
// Sends and receives of a slot meet in the order in which they were posted, as on Gloo's TCP pairs; those of different
// slots do not wait for each other. The lock is the device's: public functions of Gloo's take it, the others are called
// with it held.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include <gloo/transport/pair.h>

#include "gloo_adapter/bound_buffers.h"
#include "gloo_adapter/gloo_address.h"
#include "gloo_adapter/messages.h"
#include "messaging/fabric_endpoint.h"

namespace mrc::gloo_adapter
{

class gloo_buffer;
class gloo_context;

class gloo_pair : public gloo::transport::Pair, private messaging::connection_listener
{
public:
    gloo_pair(gloo_context &context, int peer_rank);
    gloo_pair(const gloo_pair &) = delete;
    gloo_pair &operator=(const gloo_pair &) = delete;
    ~gloo_pair() override;

    [[nodiscard]] const gloo::transport::Address &address() const override { return address_; }
    // Returns when the far end has connected, too. Throws gloo::IoException after the context's time-out.
    void connect(const std::vector<char> &bytes) override;
    void close() override;
    void setSync(bool enable, bool busy_poll) override; // without effect: there is one way to complete
    std::unique_ptr<gloo::transport::Buffer> createSendBuffer(int slot, void *address, std::size_t bytes) override;
    std::unique_ptr<gloo::transport::Buffer> createRecvBuffer(int slot, void *address, std::size_t bytes) override;
    void send(gloo::transport::UnboundBuffer *buffer, std::uint64_t slot, std::size_t offset,
              std::size_t bytes) override;
    void recv(gloo::transport::UnboundBuffer *buffer, std::uint64_t slot, std::size_t offset,
              std::size_t bytes) override;

    // With the lock held.
    [[nodiscard]] int peer_rank() const { return peer_rank_; }
    [[nodiscard]] gloo_context &context() { return context_; }
    [[nodiscard]] bound_buffers &bound() { return bound_; }
    [[nodiscard]] std::string peer_name() const; // "rank 3 (fd6d:7263::1:1 QP 17)"
    // Throws the failure; also when the pair is not connected.
    void throw_if_failed() const;
    [[nodiscard]] const std::exception_ptr &failure() const { return failure_; }
    // A receive from this rank, which the program chose or a send of which waits. Nothing happens before receive().
    struct posted_receive {
        gloo_buffer *buffer;
        std::size_t offset;
        std::size_t bytes;
        std::uint64_t slot;
        messaging::held_range memory; // null: the bytes come with a message
    };
    // Throws: the pair is of no use, or the memory cannot be registered.
    [[nodiscard]] posted_receive prepared(gloo_buffer &buffer, std::uint64_t slot, std::size_t offset,
                                          std::size_t bytes);
    void receive(posted_receive &&one);
    // Whether a transfer with this buffer is not complete.
    [[nodiscard]] bool uses(const gloo_buffer &buffer) const;
    void drop(const gloo_buffer &buffer);
    // Nothing is posted any more; who waits is told by signal(), when the memory is its own again.
    void refuse(const std::string &why);
    void signal();
    [[nodiscard]] messaging::fabric_connection *connection() { return connection_; }
    void on_cut() { connection_ = nullptr; }

    // For bound buffers.
    [[nodiscard]] messaging::held_range registered(const void *address, std::size_t bytes, messaging::region_use use);
    [[nodiscard]] messaging::ring_connection &ring() { return connection_->ring(); }
    void tell(const message_head &head) { ring().send(bytes_of(head), {}); }
    [[nodiscard]] std::uint32_t next_id();
    [[nodiscard]] std::uint32_t most_inline() const; // bytes that a message holds

private:
    struct waiting_send {
        gloo_buffer *buffer;
        std::size_t offset;
        std::size_t bytes;
    };

    void on_connected() override;
    void on_message(std::span<const std::byte> message) override;
    void on_arrival(std::uint32_t value, std::uint64_t bytes) override;
    void on_closed() override;
    void on_failure(const std::string &why) override;
    [[nodiscard]] bool waits() const override;

    void on_send_ready(std::uint64_t slot);
    void on_buffer(const message_head &head);
    void on_receive_ready(const message_head &head);
    void on_data(const message_head &head, std::span<const std::byte> bytes);
    void complete_receive(std::uint32_t id, bool announced, std::uint64_t bytes);
    // What a transfer reads; null: it is copied into a message. Throws as registered().
    [[nodiscard]] messaging::held_range source_of(const waiting_send &send);
    void transfer(const waiting_send &send, const messaging::held_range &source, const message_head &receive,
                  bool announced);
    void fail_waiting();
    void fail_connection(const std::string &why);
    void end(messaging::fabric_endpoint::lock_type &held);

    gloo_context &context_;
    int peer_rank_;
    gloo_address address_;
    messaging::fabric_connection *connection_ = nullptr; // the endpoint's; null after the end
    std::string peer_text_;
    std::condition_variable connected_changed_;
    bool connected_ = false;
    bool cutting_ = false; // by fail_connection: signal() follows
    std::exception_ptr failure_;
    // Sends of this end and receives of the far one that wait for each other, by slot, of one slot in their order. Of a
    // slot there is but one of both kinds.
    std::pmr::multimap<std::uint64_t, waiting_send> sends_;
    std::pmr::multimap<std::uint64_t, message_head> far_receives_;
    std::pmr::map<std::uint64_t, std::uint64_t> unannounced_; // receives whose send has not shown yet, by slot
    std::pmr::map<std::uint32_t, posted_receive> receives_;   // by id
    std::pmr::map<std::uint64_t, gloo_buffer *> flying_;      // sends that are under way
    std::uint64_t next_flight_ = 0;
    std::uint32_t last_id_ = 0;
    bound_buffers bound_;
};

} // namespace mrc::gloo_adapter
