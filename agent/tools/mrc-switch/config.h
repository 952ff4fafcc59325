// SPDX-License-Identifier: Apache-2.0
// The configuration file of mrc-switch: one switch, its ports and its static routes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "codec/mac_address.h"
#include "mrc/abi/srv6.h"

namespace mrc::lab_switch
{

using codec::mac_address;

enum class forwarding {
    xdp,    // this switch's own program forwards
    kernel, // the kernel's seg6local forwards; the program only impairs
};

enum class switch_xdp_mode {
    native,
    generic,
};

struct port_config {
    std::string device;
    bool host_facing = false;
};

struct route_config {
    std::uint16_t usid = 0;
    std::size_t port = 0; // index in switch_config::ports
    mac_address mac{};
};

// The locator block of its uSIDs: the first bytes of an address, 2, 4, 6 or 8.
struct usid_block {
    std::array<std::uint8_t, MRC_USID_LONGEST_BLOCK> bytes{};
    std::uint8_t length = MRC_USID_USUAL_BLOCK;

    friend bool operator==(const usid_block &, const usid_block &) = default;
};

struct switch_config {
    std::string name;
    usid_block block;
    std::uint16_t usid = 0;
    forwarding forward = forwarding::xdp;
    switch_xdp_mode mode = switch_xdp_mode::native;
    std::string pin;
    std::string share; // folder of the entry program; empty: the ports have this switch's own
    std::vector<port_config> ports;
    std::vector<route_config> routes;
};

// One line: file, line, column, key, what was found, what is allowed.
struct switch_config_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws config_error.
[[nodiscard]] switch_config read_config(const std::string &path);
[[nodiscard]] switch_config parse_config(const std::string &text, const std::string &path);

} // namespace mrc::lab_switch
