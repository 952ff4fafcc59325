// SPDX-License-Identifier: Apache-2.0
// Which link or switch is at fault, by what several hosts report of their loops. A pure function.
//
// at fault                          hosts behind the same leaf            what it is
// way to the leaf, of one host      another finds its own good            the host's link
// way to the leaf, of several       none finds its own good               the leaf
// way to the leaf, of one host      no other reports                      the host's link or the leaf
// all spines of a plane, of a host  (two spines or more)                  the leaf
//
// at fault                          hosts behind other leaves             what it is
// way by a spine, of one leaf       of one, the spine is good             the leaf's link to that spine
// way by a spine, of several        of none, the spine is good            the spine
// way by a spine, of several        of one, the spine is good             each leaf's link to that spine
// way by a spine, of one leaf       no other reports                      the link or the spine
//
// Faults of two links that meet in a switch, and leave no host behind it that could tell, are the switch's.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "mrc/abi/maps.h"
#include "service/fabric_map/link_report.h"
#include "service/fabric_rules.h"

namespace mrc::service
{

struct host_report {
    host_place host;
    const link_report *report = nullptr;       // borrowed
    protocol::instant heard = protocol::never; // a witness counts who was heard since the accusation
};

// Which link or switch; what it does not have is MRC_FAULT_NOWHERE.
struct fault_place {
    mrc_link_blame blame = MRC_BLAME_NOTHING;
    protocol::plane_index plane{};
    std::uint32_t leaf = MRC_FAULT_NOWHERE;
    std::uint32_t spine = MRC_FAULT_NOWHERE;
    std::uint32_t downlink = MRC_FAULT_NOWHERE; // of the host whose link it is
    friend auto operator<=>(const fault_place &, const fault_place &) = default;
};

struct fabric_fault {
    fault_place place;
    mrc_link_state state = MRC_LINK_UNKNOWN; // the worst that a host finds
    mrc_link_direction direction = MRC_DIRECTION_UNKNOWN;
    std::uint32_t loops = 0; // of all hosts that find it at fault, in the last second
    std::uint32_t lost = 0;
    std::uint32_t extra_rtt_ns = 0; // the least of those
    std::uint32_t hosts = 0;        // that find it at fault
    std::uint32_t witnesses = 0;    // that find the same good
};

// Sorted by place, each once.
[[nodiscard]] std::vector<fabric_fault> merge_reports(std::span<const host_report> reports);

// Loops of the one go over the other, too: what is found of both may be one fault under two names.
[[nodiscard]] bool is_beside(const fault_place &one, const fault_place &other);
// A link of the switch.
[[nodiscard]] bool is_part_of(const fault_place &link, const fault_place &whole);

} // namespace mrc::service
