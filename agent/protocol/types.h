// SPDX-License-Identifier: Apache-2.0
// The protocol's small value types: times, circular PSNs, queue pair numbers, entropy values, planes and paths.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

#include "mrc/abi/srv6.h"
#include "mrc/abi/wire.h"

namespace mrc::protocol
{

using duration = std::chrono::nanoseconds;

// The transport's clock has no now(): time enters only as an argument, so the same code runs on simulated time.
struct transport_clock {
    using duration = protocol::duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<transport_clock>;
    static constexpr bool is_steady = true;
};
using instant = transport_clock::time_point;
inline constexpr instant never = instant::max();

// 16-bit wire timestamp: CLOCK_MONOTONIC in ticks of 128 ns (TSETH, tsr = 0); wraps every 8.388608 ms.
[[nodiscard]] constexpr std::uint16_t wire_timestamp(instant at)
{
    return static_cast<std::uint16_t>(static_cast<std::uint64_t>(at.time_since_epoch().count()) >> MRC_TS_TICK_SHIFT);
}

// Packet sequence number: 24 bits, circular. a < b means b is at most 2^23 - 1 ahead of a (IBTA 9.7.5.1.2).
class psn
{
public:
    constexpr psn() = default;
    constexpr explicit psn(std::uint32_t value) : value_{value & MRC_PSN_MASK} {}

    [[nodiscard]] constexpr std::uint32_t value() const { return value_; }

    // Signed distance from `from` to this one, in -2^23 … 2^23 - 1.
    [[nodiscard]] constexpr std::int32_t operator-(psn from) const
    {
        return static_cast<std::int32_t>((value_ - from.value_) << 8) >> 8;
    }
    [[nodiscard]] constexpr psn operator+(std::int32_t by) const
    {
        return psn{value_ + static_cast<std::uint32_t>(by)};
    }
    constexpr psn &operator++()
    {
        *this = *this + 1;
        return *this;
    }

    friend constexpr bool operator==(psn, psn) = default;
    friend constexpr bool operator<(psn a, psn b) { return a - b < 0; }
    friend constexpr bool operator>(psn a, psn b) { return b < a; }
    friend constexpr bool operator<=(psn a, psn b) { return !(b < a); }
    friend constexpr bool operator>=(psn a, psn b) { return !(a < b); }

private:
    std::uint32_t value_ = 0;
};

// Queue pair number, 24 bits.
struct qpn {
    std::uint32_t value = 0;
    friend constexpr auto operator<=>(qpn, qpn) = default;
};

// Entropy value: 32 bits that choose one path of a path group (protocol.md §1.9, §4.1).
struct ev {
    std::uint32_t value = 0;
    friend constexpr auto operator<=>(ev, ev) = default;
};

inline constexpr unsigned max_planes = 8; // the EV's plane field has 3 bits

// Plane of the fabric, 0-based; a host has one port per plane.
struct plane_index {
    std::uint8_t value = 0;
    friend constexpr auto operator<=>(plane_index, plane_index) = default;
};

// Row of the `paths` and `signals` maps; 0 = unknown path.
struct path_index {
    std::uint32_t value = 0;
    friend constexpr auto operator<=>(path_index, path_index) = default;
};

// One bit per plane. The mask of local ports and the mask that a peer reports are combined wherever a path is drawn.
class plane_mask
{
public:
    constexpr plane_mask() = default;
    constexpr explicit plane_mask(std::uint32_t bits) : bits_{bits} {}

    [[nodiscard]] constexpr bool has(plane_index p) const { return (bits_ >> p.value & 1u) != 0; }
    [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
    [[nodiscard]] constexpr std::uint32_t bits() const { return bits_; }
    constexpr void set(plane_index p, bool usable)
    {
        const std::uint32_t bit = 1u << p.value;
        bits_ = usable ? bits_ | bit : bits_ & ~bit;
    }
    friend constexpr plane_mask operator&(plane_mask a, plane_mask b) { return plane_mask{a.bits_ & b.bits_}; }
    friend constexpr bool operator==(plane_mask, plane_mask) = default;

private:
    std::uint32_t bits_ = 0;
};

inline constexpr plane_mask every_plane{0xFF};

// The ports of this host, one bit per plane: with a working link, and not switched off by the operator. A port that is
// switched off drains: it takes no new packet, but what it has sent is not given up. Shared by all path groups: losing
// a port is one store, however many QPs there are.
struct local_ports {
    plane_mask up;
    plane_mask enabled{0xFF};
    // How often anything else has changed what packets in flight can expect: a path has fallen silent, a peer has told
    // of other ports, a plane toward a host is suspected, or not any more. Counted by whoever finds it, so that nobody
    // has to ask each path group and host in every round (datapath/waiting_queue_pairs.h).
    mutable std::uint64_t ways_changed = 0;

    [[nodiscard]] constexpr plane_mask usable() const { return up & enabled; }
};

} // namespace mrc::protocol
