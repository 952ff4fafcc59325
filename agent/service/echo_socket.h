// SPDX-License-Identifier: Apache-2.0
// ICMPv6 echo requests, and the answers to them.
#pragma once

#include <cstdint>
#include <functional>

#include <netinet/in.h>

#include "kernel/unique_fd.h"

namespace mrc::service
{

class echo_socket
{
public:
    // Without CAP_NET_RAW there is none: fd() is -1, and calls do nothing.
    echo_socket();

    // Readable when an answer has arrived.
    [[nodiscard]] int fd() const { return fd_.get(); }
    // Fails, and is lost, where the kernel has no way to send it now; the caller tries again.
    void send(const sockaddr_in6 &to, std::uint16_t id) const;
    // Each answer that has arrived since, to anybody's request: `id` tells whose.
    void receive(const std::function<void(const sockaddr_in6 &from, std::uint16_t id)> &handler) const;

private:
    kernel::unique_fd fd_;
};

} // namespace mrc::service
