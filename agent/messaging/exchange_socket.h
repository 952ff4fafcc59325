// SPDX-License-Identifier: Apache-2.0
// The TCP connection of two ends: a message of each travels by it before they are connected, of a size that both know,
// and while it is open the far end's process is there. It never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/unique_fd.h"
#include "messaging/interfaces.h"

namespace mrc::messaging
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

    // A socket that is bound: connect() connects from its address, once, and not from one that the kernel chooses.
    void connect_from(kernel::unique_fd bound) { fd_ = std::move(bound), bound_ = true; }
    [[nodiscard]] std::optional<socket_address> own_address() const;

    // Begins to connect. False: why().
    [[nodiscard]] bool connect(const socket_address &peer);
    [[nodiscard]] exchange_step finish_connect();

    void queue(std::span<const std::byte> what) { sending_.assign(what.begin(), what.end()), sent_ = 0; }
    [[nodiscard]] exchange_step send(); // what is queued
    [[nodiscard]] exchange_step receive(std::size_t bytes);
    [[nodiscard]] std::span<const std::byte> received() const { return receiving_; }
    [[nodiscard]] bool received_any() const { return received_ > 0; }

    // The far end's process, or its host's kernel, has closed the connection. That the network between has failed says
    // nothing of MRC's planes, and is not told.
    [[nodiscard]] bool ended();
    // Tells the far end that this one has.
    void end() const;

    [[nodiscard]] int fd() const { return fd_.get(); } // to wait for

    // Messages are exchanged: from now on MRC notices that a host is gone.
    void established() const;

    [[nodiscard]] const std::string &why() const { return why_; }

private:
    exchange_step failed_by(int error, const char *doing);
    void keep_alive() const;

    kernel::unique_fd fd_;
    std::vector<std::byte> sending_;
    std::size_t sent_ = 0;
    std::vector<std::byte> receiving_;
    std::size_t received_ = 0;
    bool bound_ = false; // and not connected
    bool lost_ = false;  // by the network: after such an error the socket looks as if the far end had closed it
    std::string why_;
};

} // namespace mrc::messaging
