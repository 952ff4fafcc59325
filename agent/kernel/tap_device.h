// SPDX-License-Identifier: Apache-2.0
// A non-persistent TAP device: it lives as long as its descriptor, so a daemon that dies leaves no device, qdisc or
// filter.
#pragma once

#include <string>

#include "kernel/unique_fd.h"
#include "mrc/abi/maps.h"

namespace mrc::kernel
{

struct tap_options {
    std::string name;                  // IFNAMSIZ - 1 characters at most; a %d is replaced by the kernel
    bool segmentation_offload = false; // offer TSO and checksum offload, as an overlay for ordinary sockets wants
    bool up = true;
};

class tap_device
{
public:
    // Creates the device. Throws startup_error, for instance when the name is taken.
    explicit tap_device(const tap_options &options);

    [[nodiscard]] const std::string &name() const { return name_; }
    [[nodiscard]] int ifindex() const { return ifindex_; }

    void bring_up();
    void set_mtu(unsigned int bytes);
    void set_no_arp();
    void add_address(const mrc_ip &address, unsigned int prefix_length);
    void add_route(const mrc_ip &destination, unsigned int prefix_length);
    // IPv4, as ::ffff:a.b.c.d. The address is the device's only one, with no network behind it; set it before the
    // device is brought up. The route's length is that of the IPv4 prefix.
    void set_ipv4_address(const mrc_ip &address);
    void add_ipv4_route(const mrc_ip &destination, unsigned int prefix_length);

private:
    void set_flags(short flags);

    unique_fd fd_;
    std::string name_;
    int ifindex_ = 0;
};

} // namespace mrc::kernel
