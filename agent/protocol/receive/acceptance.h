// SPDX-License-Identifier: Apache-2.0
// What becomes of a data packet that arrives (specification 6.3.1), as data: the responder finds out which case it is,
// and does what the case's row says. ePSN = cack + 1, W = MPR.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "protocol/qp_config.h"

namespace mrc::protocol
{

enum class reception : std::uint8_t {
    fresh,              // in [ePSN, ePSN + W), new
    behind_refusal,     // the same, behind a packet that memory refused
    no_memory,          // the same, but this end has no room to note it: slab_pool.h
    memory_busy,        // the same, but it cannot be written now
    receives_taken,     // the same, with an immediate, but completions have its receive request's place
    unexpected,         // the same, but this end has failed
    marked,             // in [ePSN, ePSN + W), seen before
    below_edge,         // below ePSN
    beyond_window,      // at or above ePSN + W
    out_of_reach,       // before the first PSN, or as far behind as PSNs can tell
    malformed,          // header fields that contradict each other
    trimmed,            // without its payload, new
    trimmed_last_hop,   // the same, by the last switch
    trimmed_unanswered, // the same, but known already, outside of the window, or not to be answered
};

enum class sack_rule : std::uint8_t {
    none,
    by_triggers, // responder.h
    at_once,     // a duplicate asks for it
};

struct acceptance {
    reception what{};
    std::uint64_t qp_counters::*counter = nullptr;
    bool congestion = false; // its CE mark counts
    bool arrives = false;    // it is marked, and the edge may move: that makes Transport ACKs due
    bool acked_again = false;
    sack_rule sack = sack_rule::none;
    std::uint8_t nack = 0; // enum mrc_nack_reason; 0: none
};

inline constexpr auto acceptance_rules = [] {
    using enum reception;
    using c = qp_counters;
    constexpr auto triggers = sack_rule::by_triggers;
    constexpr auto at_once = sack_rule::at_once;
    return std::array<acceptance, 14>{{
        {.what = fresh, .counter = &c::rx_packets, .congestion = true, .arrives = true, .sack = triggers},
        {.what = behind_refusal, .counter = &c::rx_packets, .congestion = true, .arrives = true, .sack = triggers},
        {.what = no_memory, .counter = &c::rx_no_memory, .congestion = true, .nack = MRC_NACK_NO_BITMAP},
        {.what = memory_busy, .counter = &c::rx_busy, .congestion = true, .nack = MRC_NACK_NO_PKT_BUFFER},
        {.what = receives_taken, .counter = &c::rx_busy, .congestion = true, .nack = MRC_NACK_NO_RESOURCE},
        {.what = unexpected, .counter = &c::rx_unexpected, .congestion = true, .nack = MRC_NACK_UNEXP_EVENT},
        {.what = marked, .counter = &c::rx_duplicates, .congestion = true, .sack = at_once},
        {.what = below_edge, .counter = &c::rx_duplicates, .congestion = true, .acked_again = true, .sack = at_once},
        {.what = beyond_window, .counter = &c::rx_out_of_window, .nack = MRC_NACK_PSN_OOR_WINDOW}, // limited (D5)
        {.what = out_of_reach, .counter = &c::rx_out_of_window},
        {.what = malformed, .counter = &c::rx_malformed},
        {.what = trimmed, .counter = &c::rx_trimmed, .nack = MRC_NACK_TRIMMED},
        {.what = trimmed_last_hop, .counter = &c::rx_trimmed, .nack = MRC_NACK_TRIMMED_LASTHOP},
        {.what = trimmed_unanswered, .counter = &c::rx_trimmed},
    }};
}();

[[nodiscard]] constexpr const acceptance &rule_of(reception what)
{
    return acceptance_rules[static_cast<std::size_t>(what)];
}

} // namespace mrc::protocol
