// SPDX-License-Identifier: Apache-2.0
// From hellos to planes: ports that hear each other are one plane. All hosts come to the same numbers, because each
// counts the planes in the order of their least port; they compare what they have come to by a digest.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/setup/hello.h"

namespace mrc::setup
{

inline constexpr std::size_t most_hosts = 64; // besides this one; strangers cannot make this host remember more

// What this host has heard so far.
struct heard_so_far {
    hello own;                                             // what this host says; `port` is filled in for each
    std::map<std::uint64_t, hello> hosts;                  // the latest of each other host
    std::map<std::uint64_t, std::set<std::uint64_t>> runs; // of each
    std::set<std::uint64_t> twins;                         // identities that two hosts have at the same time
    bool too_many = false;                                 // hosts, or links: some were left out
};

// Takes a hello that came in by this port of the host. Returns whether anything is new but the sender's plan.
bool take_hello(heard_so_far &to, const hello &came, std::uint8_t by);

// The ports that are one plane, ascending; those of one host are on one network, and the least of them counts.
using plane_ports = std::vector<port_id>;

struct plan {
    std::vector<plane_ports> planes;
    std::uint64_t digest = 0; // of the planes

    // The port that a host uses on a plane; nullptr: it is not there.
    [[nodiscard]] const port_id *port_on(std::size_t plane, std::uint64_t host) const;
    // Hosts that have a plane in common with this one, in the order of their identities.
    [[nodiscard]] std::vector<std::uint64_t> peers_of(std::uint64_t host) const;
};

[[nodiscard]] plan make_plan(const heard_so_far &heard);

// All peers have come to this plan, and there are some.
[[nodiscard]] bool is_agreed(const heard_so_far &heard, const plan &made);

// What a person should know of the plan, a line each: ports left out and why, crossed cables, hosts that do not hear
// this one. `devices` are the host's ports in their order.
[[nodiscard]] std::vector<std::string> remarks_on(const heard_so_far &heard, const plan &made,
                                                  const std::vector<std::string> &devices);
// Why nothing can be written, with what helps; empty: it can.
[[nodiscard]] std::string refusal_of(const heard_so_far &heard, const plan &made);

} // namespace mrc::setup
