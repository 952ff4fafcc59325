// SPDX-License-Identifier: Apache-2.0
// Loops that this host sends to itself over the switches that a carrier names, on the ports of a host without a daemon.
// What comes back says that there are such switches, and that they shift uSIDs (RFC 9800).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/unique_fd.h"
#include "mrc/abi/ip.h"
#include "service/config/config.h"

namespace mrc::setup
{

struct loop_question {
    std::size_t port = 0; // of the host's ports, from 0
    mrc_ip source{};      // routers forward nothing from link-local addresses
    mrc_ip carrier{};
};

// Whether each came back. Loops that come back later than that count for nothing.
using loop_asker = std::function<std::vector<bool>(std::span<const loop_question>)>;

class loop_line
{
public:
    static constexpr std::chrono::milliseconds patience{20}; // after the last loop of a call has left

    // Needs CAP_NET_RAW. Throws std::system_error.
    explicit loop_line(const std::vector<std::string> &devices);

    // Asks for routers on the links until each port has one, or as long as that takes at most: the kernel may still be
    // trying out the ports' own addresses. Returns what each port lacks: "eth0: no router answers (ff02::2)".
    [[nodiscard]] std::vector<std::string> find_routers(std::chrono::milliseconds longest);
    // Sends the loops of a call at once: at most `most_at_once`.
    [[nodiscard]] std::vector<bool> ask(std::span<const loop_question> loops);
    static constexpr std::size_t most_at_once = 1024;

private:
    struct line_port {
        std::string device;
        std::uint32_t ifindex = 0;
        service::mac_address own{};
        kernel::unique_fd socket;
        std::vector<service::mac_address> routers;
    };

    void send(const loop_question &loop, std::uint32_t number) const;
    // Reads what has come; calls `handler(frame)` for each IPv6 frame that came in.
    void receive(const line_port &port, const std::function<void(std::span<const std::byte>)> &handler) const;
    // Until something can be read; false: not until then.
    [[nodiscard]] bool await(std::chrono::steady_clock::time_point until) const;

    std::vector<line_port> ports_;
    std::uint64_t cookie_ = 0;
    std::uint32_t next_number_ = 0;
};

} // namespace mrc::setup
