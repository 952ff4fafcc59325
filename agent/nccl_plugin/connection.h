// SPDX-License-Identifier: Apache-2.0
// What sending and receiving ends have in common: a connection of agent/messaging, whose thread takes its completions,
// the TCP connection beside it, and how both end.
//
// Its owner calls it from one thread at a time. What the listener's functions share with these calls is atomic, or
// touched with the endpoint's lock held.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "messaging/exchange_socket.h"
#include "nccl_plugin/clear_to_send.h"
#include "nccl_plugin/nccl_net.h"
#include "nccl_plugin/session.h"

namespace mrc::nccl_plugin
{

class connection;

// Registered memory: NCCL's mhandle.
struct memory_handle {
    std::shared_ptr<session> at;
    messaging::held_range range; // null: of no bytes

    [[nodiscard]] bool holds(const void *data, std::size_t bytes) const;
};

// A send or a (grouped) receive under way: NCCL's request.
struct transfer_request {
    connection *owner = nullptr;
    bool in_use = false;
    std::uint32_t generation = 0;
    std::uint32_t count = 0;               // buffers
    std::atomic<std::uint32_t> missing{0}; // of these; 0: done
    std::array<std::uint32_t, most_grouped> bytes{};
    std::array<std::uint32_t, most_grouped> room{};
    std::array<const memory_handle *, most_grouped> memory{};
    std::uint32_t arrived = 0; // a bit a buffer
};

class connection : public messaging::connection_listener
{
public:
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;

    // Its address, to be given to the far end.
    [[nodiscard]] const messaging::peer_address &address() const { return address_; }
    // False: health() says why.
    [[nodiscard]] bool connect(const messaging::peer_address &peer);
    [[nodiscard]] bool established() const { return established_.load(std::memory_order_acquire); }
    // The TCP connection over which addresses were exchanged.
    void watch(messaging::exchange_socket socket);

    // Whether it can go on. The reason why it cannot is logged once.
    [[nodiscard]] result health();
    // `done` and the sizes of what is done, of which `bytes` may be null.
    [[nodiscard]] result test(transfer_request &request, bool &done, int *bytes);
    [[nodiscard]] std::unique_ptr<memory_handle> register_memory(const void *data, std::size_t bytes);
    // Requests that use it end, and the connection with them: no late packet finds the memory.
    void release_memory(std::unique_ptr<memory_handle> memory);

protected:
    connection(std::shared_ptr<session> at, const char *direction);
    // What derived classes do first when they go: their functions are called no more.
    void close();

    [[nodiscard]] virtual std::span<transfer_request> requests() = 0;
    [[nodiscard]] transfer_request *free_request();
    void log_refusal(const std::string &why) const;

    [[nodiscard]] messaging::fabric_endpoint &endpoint() { return session_->endpoint; }
    [[nodiscard]] messaging::ring_connection &ring() { return fabric_->ring(); }
    [[nodiscard]] bool of_this_session(const memory_handle *memory) const;

    std::atomic<bool> starving_{false}; // it waits for the far end, though nothing of its own is under way

private:
    using clock = std::chrono::steady_clock;

    void on_connected() override { established_.store(true, std::memory_order_release); }
    void on_closed() override { closed_.store(true, std::memory_order_release); }
    void on_failure(const std::string &why) override;
    [[nodiscard]] bool waits() const override;
    void look_for_end();
    void give_up(const std::string &why, bool of_this_program);

    std::shared_ptr<session> session_;
    const char *direction_;
    messaging::fabric_connection *fabric_ = nullptr; // null once it is closed
    messaging::peer_address address_;
    std::string peer_;
    messaging::exchange_socket socket_;
    std::atomic<bool> established_{false};
    std::atomic<bool> closed_{false}; // by the far end
    std::atomic<bool> failed_{false};
    std::atomic<std::uint32_t> under_way_{0}; // requests
    std::string why_;                         // written before failed_
    result code_ = result::remote_error;      // the same
    bool told_ = false;
    std::optional<clock::time_point> left_at_; // when the far end was seen to have gone
    clock::time_point next_look_;
};

} // namespace mrc::nccl_plugin
