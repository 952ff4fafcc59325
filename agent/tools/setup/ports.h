// SPDX-License-Identifier: Apache-2.0
// The ports that a host could give to mrcd, and what mrc-doctor's probes say of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mrc::setup
{

struct network_device {
    std::string name;
    std::string kind; // of a virtual one: "veth", "bridge"; empty: hardware
    bool is_ethernet = false;
    bool has_carrier = false;
    bool is_member = false;         // of a bridge or a bond
    bool has_default_route = false; // somebody reaches this host by it, perhaps
};

// Of the calling thread's network namespace, in the order of their names, numbers in them as numbers. Throws
// std::system_error.
[[nodiscard]] std::vector<network_device> network_devices();

struct port_choice {
    std::vector<std::string> ports;    // with carrier; at most MRC_MAX_PORTS
    std::vector<std::string> left_out; // "eth0 is left out: it has the default route; --ports names it all the same"
};
// Nothing is sent on a port that is left out. `named`: these and no others; empty: all that look like ports of planes.
// Throws std::runtime_error where none remains or one that is named cannot be a port, with what each one lacks.
[[nodiscard]] port_choice choose_ports(const std::vector<network_device> &devices,
                                       const std::vector<std::string> &named);

struct port_facts {
    std::string device;
    std::string driver;                      // empty: it does not tell
    std::optional<std::uint32_t> speed_mbps; // none: it does not tell
    std::uint32_t mtu = 0;
    std::string xdp;                  // native, generic; empty: in use, or refused
    std::string transmit;             // xdp, af_xdp
    std::vector<std::string> lacking; // what keeps mrcd from running on it, with the command that helps
};

// Attaches programs to the ports and takes them off again, as mrc-doctor does; a port that is in use is only looked at.
[[nodiscard]] std::vector<port_facts> examine(const std::vector<std::string> &ports);

} // namespace mrc::setup
