// SPDX-License-Identifier: Apache-2.0
// The EV universe of a path group: which entropy values (EVs) toward a destination exist (protocol.md §4.1, OCP
// controller API, mrc_ctl_ev_profile_attr). An EV names its path: plane in bits 2:0, T0 uplink in bits 10:3, entropy
// above (include/mrc/abi/srv6.h). One EV per path, and as many on every plane: equal load per plane is an invariant.
//
// mode       EVs
// automatic  one for each path, or for `count` of them, n on each plane: one of the uplinks i, i + n, i + 2n … for each
//            i below n, drawn; random entropy
// listed     `list`, an EV and its port each
// generated  every combination of the fields' masked bits from min to max (api.md §3.1): a field starts as init, its
//            masked bits are overwritten, and the fields are put side by side, the first the most significant, the last
//            ending at bit 0. The last field changes fastest. Widths 21, 8, 3 with init 1, 0, 0 and mask 0, 0xff, 7:
//            the whole fabric with entropy 1.
//
// A path group that has fewer rows a plane than the fabric has uplinks has the path by uplink u in row u % rows of the
// plane: in_rows().
//
// Setting up only: it allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>
#include <vector>

#include "protocol/types.h"

namespace mrc::protocol
{

enum class profile_mode : std::uint8_t { automatic, listed, generated };

struct listed_ev {
    ev entropy;
    unsigned port = 0; // 1-based: plane + 1
};

struct ev_profile_spec {
    profile_mode mode = profile_mode::automatic;
    std::vector<listed_ev> list;
    std::vector<mrc_ev_field> fields;
    unsigned count = 0;      // EVs that the profile has; 0: as many as come out
    unsigned min_active = 1; // ev_min_active: so many stay in use, whatever is believed of them
};

struct profile_entry {
    ev entropy;
    plane_index plane;
    std::uint16_t slot = 0; // plane * uplinks + uplink

    friend constexpr bool operator==(profile_entry, profile_entry) = default;
};

enum class profile_fault : std::uint8_t {
    // of an EV; index: which of the list or, of those generated, in order
    ev_zero,
    ev_too_wide,           // found: EV; allowed: bits
    port_outside,          // found: port; allowed: the largest
    port_of_another_plane, // found: port; allowed: the EV's
    plane_outside,         // found: plane; allowed: the largest
    uplink_outside,        // found: uplink; allowed: the largest
    same_path,             // found: EV; allowed: index of the one before
    // of a field; index: which
    field_width,         // found: width
    fields_too_wide,     // found: bits with this field; allowed: bits
    field_init_too_wide, // found: init; allowed: width
    field_mask_outside,  // found: mask; allowed: width
    field_min_above_max, // found: min; allowed: max
    field_max_too_large, // found: max; allowed: the largest in the mask's bits
    // of the whole
    too_many_fields, // found, allowed: fields
    no_ev,
    unequal_planes,       // index: plane; found: its EVs; allowed: EVs of plane 0
    count_mismatch,       // found: count; allowed: EVs there are
    count_not_divisible,  // automatic mode; found: count; allowed: planes
    count_too_large,      // automatic mode; found: count; allowed: paths
    min_active_too_large, // found: min_active; allowed: EVs
};

struct profile_error {
    profile_fault fault = profile_fault::no_ev;
    std::size_t index = 0;
    std::uint64_t found = 0;
    std::uint64_t allowed = 0;

    friend constexpr bool operator==(const profile_error &, const profile_error &) = default;
};

// A sentence for operators: where, what was found, what is allowed.
struct profile_message {
    std::array<char, 160> text{};
    std::size_t length = 0;

    [[nodiscard]] std::string_view view() const { return {text.data(), length}; }
};
[[nodiscard]] profile_message describe(const profile_error &error);

// The EVs of the profile in a fabric of 1…8 planes and 1…256 uplinks per plane, in the order of their slots.
// `ev_bits`: 16 when inner packets are IPv4, else 32 (protocol.md §1.9).
[[nodiscard]] std::expected<std::vector<profile_entry>, profile_error>
expand_profile(const ev_profile_spec &profile, unsigned planes, unsigned uplinks, unsigned ev_bits, std::uint64_t seed);

// The same EVs with the slots of a group of so many rows a plane, in their order; no two of them may share a row.
[[nodiscard]] std::vector<profile_entry> in_rows(std::vector<profile_entry> entries, unsigned rows);

} // namespace mrc::protocol
