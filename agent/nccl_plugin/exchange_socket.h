// SPDX-License-Identifier: Apache-2.0
// The TCP connection of two ends: their greetings travel by it, and while it is open the far end's process is there. It
// never blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernel/unique_fd.h"
#include "nccl_plugin/greeting.h"

namespace mrc::nccl_plugin
{

enum class exchange_step : std::uint8_t {
    waits, // nothing can be done at the moment
    done,
    failed, // why() says how
};

class exchange_socket
{
public:
    explicit exchange_socket(kernel::unique_fd connected = {}) : fd_{std::move(connected)} { keep_alive(); }

    // Begins to connect. False: why().
    [[nodiscard]] bool connect(const socket_address &peer);
    [[nodiscard]] exchange_step finish_connect();

    void queue(const greeting &what) { sending_ = what.encode(), sent_ = 0; }
    [[nodiscard]] exchange_step send(); // what is queued
    [[nodiscard]] exchange_step receive();
    [[nodiscard]] std::span<const std::byte, greeting::encoded_bytes> received() const { return receiving_; }
    [[nodiscard]] bool received_any() const { return received_ > 0; }

    // The far end's process, or its host's kernel, has closed the connection. That the network between has failed says
    // nothing of MRC's planes, and is not told.
    [[nodiscard]] bool ended();
    // Tells the far end that this one has.
    void end() const;

    // Greetings are exchanged: from now on MRC notices that a host is gone.
    void established() const;

    [[nodiscard]] const std::string &why() const { return why_; }

private:
    exchange_step failed_by(int error, const char *doing);
    void keep_alive() const;

    kernel::unique_fd fd_;
    std::array<std::byte, greeting::encoded_bytes> sending_{};
    std::size_t sent_ = 0;
    std::array<std::byte, greeting::encoded_bytes> receiving_{};
    std::size_t received_ = 0;
    bool lost_ = false; // by the network: after such an error the socket looks as if the far end had closed it
    std::string why_;
};

} // namespace mrc::nccl_plugin
