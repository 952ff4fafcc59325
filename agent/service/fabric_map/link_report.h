// SPDX-License-Identifier: Apache-2.0
// What the daemons of a fabric tell each other of their loops: of each plane that the sender has a port on, which ways
// are good, and those that are at fault. A datagram of at most link_report_bytes, all numbers big-endian:
//
//   head    "MRCF" | version (1) | planes (1) | faults (2) | run (4) | number (4)
//   plane   plane (1) | state of the way to the leaf (1) | spines (2) | a bit for each spine that is good (32)
//   fault   plane (1) | state (1) | direction (1) | zero (1) | spine (2) | zero (2) | loops (4) | lost (4) | extra (4)
//
// Planes come in order, and faults, of each plane first the way to the leaf; each is there once, and what is at fault
// is of a plane that is there and is not called good. A fault's spine FFFF is the way to the leaf; extra is its
// quickest round trip beyond the quickest ever, in ns. Good is what has lost nothing lately: what is not sure yet is
// neither good nor at fault. `run` is another in each run of the daemon, and `number` counts its reports. What is not
// exactly so, another version included, is not a report.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mrc/abi/maps.h"
#include "protocol/types.h"
#include "service/config/config.h"

namespace mrc::service
{

struct reported_fault {
    protocol::plane_index plane{};
    std::optional<std::uint32_t> spine; // none: the way to the leaf
    mrc_link_state state = MRC_LINK_DEAD;
    mrc_link_direction direction = MRC_DIRECTION_UNKNOWN;
    std::uint32_t loops = 0; // of the last second
    std::uint32_t lost = 0;  // of those
    std::uint32_t extra_rtt_ns = 0;
    protocol::instant since{}; // it is said; by the clock of this host, not in the datagram
    friend bool operator==(const reported_fault &, const reported_fault &) = default;
};

struct reported_plane {
    mrc_link_state leaf = MRC_LINK_UNKNOWN;
    std::uint32_t spines = 0;      // that the plane has
    std::bitset<max_uplinks> good; // by spine
    friend bool operator==(const reported_plane &, const reported_plane &) = default;
};

struct link_report {
    std::uint32_t run = 0;
    std::uint32_t number = 0;
    std::array<std::optional<reported_plane>, MRC_MAX_PORTS> planes; // none: no port of the sender is in use there
    std::vector<reported_fault> faults;                              // in order; at most most_reported_faults are sent
};

inline constexpr std::size_t most_reported_faults = 44;
inline constexpr std::size_t link_report_bytes = 16 + std::size_t{MRC_MAX_PORTS} * 36 + most_reported_faults * 20;

// Faults of the report have been said since then, or since they were in the one before.
void keep_since(link_report &report, const link_report &before, protocol::instant now);

[[nodiscard]] std::vector<std::byte> encode(const link_report &report);
[[nodiscard]] std::optional<link_report> decode_link_report(std::span<const std::byte> datagram);

} // namespace mrc::service
