// SPDX-License-Identifier: Apache-2.0
// The frames of round trips, and what comes back of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mrc/abi/maps.h"

namespace mrc::ctl::diagnose
{

// Which packet it is; what is another run's is told by the nonce.
struct trip_mark {
    std::uint32_t magic = 0x6d726374;
    std::uint32_t nonce = 0;
    std::uint32_t route = 0;
    std::uint32_t number = 0;
};

struct trip_frame {
    std::uint8_t source_mac[6] = {};
    std::uint8_t gateway_mac[6] = {};
    mrc_ip source{}; // of both headers
    mrc_ip carrier{};
    mrc_ip target{};
    bool is_echo = false;          // an ICMPv6 echo request; else without a next header
    std::uint32_t outer_bytes = 0; // from the outer IP header on; less than it takes: as short as possible
    trip_mark mark{};
};
[[nodiscard]] std::vector<std::uint8_t> bytes_of(const trip_frame &frame);

// Of an IPv6 packet that has come back with the outer header popped.
[[nodiscard]] std::optional<trip_mark> mark_in(std::span<const std::uint8_t> packet);

} // namespace mrc::ctl::diagnose
