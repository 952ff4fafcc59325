// SPDX-License-Identifier: Apache-2.0
// What hosts that are being set up tell each other on each port's link: who they are, and whom they hear where. One UDP
// datagram to a link-local multicast group, all numbers in network byte order:
//
//   0 "MRCH"   4 version, 1   5 port it left by   6 number of ports   7 bytes of the name
//   8 host     16 run         24 plan             32 number of links (16 bits)
//   34 the name, then 10 bytes for each link: host and port that are heard, own port that hears them
//
// Whoever is on a link can send anything: decode_hello() takes what is exactly so, and nothing else.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mrc/abi/maps.h"
#include "session/host_names.h"

namespace mrc::setup
{

inline constexpr std::uint16_t hello_udp_port = 4972;
inline constexpr const char *hello_group = "ff12::6d72:63"; // link-local, not a registered one (RFC 4291 section 2.7)
inline constexpr std::size_t most_links = 96;               // a hello then fits the least MTU of IPv6
inline constexpr std::size_t most_hello_bytes = 34 + session::most_label_bytes + most_links * 10;

// A port of a host, by its place in the order in which the host counts them.
struct port_id {
    std::uint64_t host = 0;
    std::uint8_t port = 0;

    auto operator<=>(const port_id &) const = default;
};

// A port that is heard, and the own one that hears it.
struct heard_link {
    port_id from;
    std::uint8_t by = 0;

    auto operator<=>(const heard_link &) const = default;
};

struct hello {
    std::uint64_t host = 0; // identity.h; never 0
    std::uint64_t run = 0;  // of the program, random: two hosts of one identity differ in it
    std::uint64_t plan = 0; // what the sender makes of all that it hears (plan.h), to compare
    std::uint8_t port = 0;
    std::uint8_t ports = 1;
    std::string name;              // one label, and a host name: a stranger has no domain to claim
    std::vector<heard_link> heard; // ascending

    bool operator==(const hello &) const = default;
};

// A name as hellos carry it: its first label, cut, and with - for what may not stand there; "host" for what is none
// then.
[[nodiscard]] std::string hello_name(const std::string &host_name);

// Links beyond most_links are left out.
[[nodiscard]] std::vector<std::byte> encode_hello(const hello &from);
// nullopt: no hello of this version, or one with anything that is not allowed.
[[nodiscard]] std::optional<hello> decode_hello(std::span<const std::byte> datagram);

} // namespace mrc::setup
