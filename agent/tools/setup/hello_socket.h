// SPDX-License-Identifier: Apache-2.0
// A port's socket for hellos, which leave the link neither way: sent with hop limit 255, and taken only if they still
// have it and come from a link-local address (as in RFC 4861 section 6.1).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <system_error>

#include "kernel/unique_fd.h"

namespace mrc::setup
{

class hello_socket
{
public:
    // In the group, on this device alone. Needs CAP_NET_RAW. Throws std::system_error, which names the device.
    explicit hello_socket(const std::string &device);

    [[nodiscard]] int fd() const { return socket_.get(); }
    // address_not_available: the device has no link-local address (yet).
    [[nodiscard]] std::error_code send(std::span<const std::byte> datagram) const;
    // Hands over what has arrived, without waiting, `most` datagrams at most.
    void receive(std::size_t most, const std::function<void(std::span<const std::byte>)> &handler) const;

private:
    kernel::unique_fd socket_;
    int ifindex_;
};

} // namespace mrc::setup
