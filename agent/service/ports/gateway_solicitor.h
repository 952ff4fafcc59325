// SPDX-License-Identifier: Apache-2.0
// Makes the kernel resolve or confirm a neighbour.
#pragma once

#include <cstdint>
#include <functional>

#include "kernel/netlink.h"
#include "mrc/abi/maps.h"
#include "service/echo_socket.h"

namespace mrc::service
{

// The kernel treats the entry as if a packet had been sent to it: solicits it when unresolved, confirms it when stale.
// false: it refused.
bool use_neighbour(kernel::netlink_socket &socket, std::uint32_t ifindex, const mrc_ip &address);

// Finds the address of a gateway that is not configured: ICMPv6 echo requests to all routers of the link (ff02::2).
// Router solicitations would not do, as leaves that advertise no prefixes answer none.
class router_call
{
public:
    // Of its echo requests and their answers, in the host's byte order: those of ping have others.
    static constexpr std::uint16_t id = 0x6d72;

    // Readable when a router has answered; -1 without CAP_NET_RAW.
    [[nodiscard]] int fd() const { return socket_.fd(); }
    void send(std::uint32_t ifindex) const;
    // The link and the link-local address of each router that has answered since.
    void receive(const std::function<void(std::uint32_t ifindex, const mrc_ip &router)> &handler) const;

private:
    echo_socket socket_;
};

} // namespace mrc::service
