// SPDX-License-Identifier: Apache-2.0
// A far end that connects as the provider does, and then says what it likes.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "fi/ends.h"
#include "fi_provider/transfer_head.h"
#include "messaging/exchange_socket.h"
#include "messaging/fabric_endpoint.h"

namespace mrc::fi_test
{

class stranger : private messaging::connection_listener
{
public:
    explicit stranger(const std::string &instance);
    stranger(const stranger &) = delete;
    stranger &operator=(const stranger &) = delete;
    ~stranger() override;

    // Asks; answered() waits for what the other end says to that.
    void connect(const sockaddr_in &to);
    void answered();
    void say(const fi_provider::transfer_head &head, std::span<const std::byte> body = {});
    void say_too_little();
    // The first message of the other end; waits for it.
    [[nodiscard]] fi_provider::transfer_head heard();

private:
    void on_connected() override {}
    void on_message(std::span<const std::byte> message) override;
    void on_arrival(std::uint32_t /*value*/, std::uint64_t /*bytes*/) override {}
    void on_closed() override {}
    void on_failure(const std::string & /*why*/) override {}
    [[nodiscard]] bool waits() const override { return false; }

    std::mutex mutex_;
    std::condition_variable came_;
    std::optional<fi_provider::transfer_head> heard_;
    messaging::fabric_endpoint endpoint_;
    messaging::exchange_socket socket_;
    messaging::fabric_connection *connection_ = nullptr;
};

} // namespace mrc::fi_test
