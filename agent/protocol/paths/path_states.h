// SPDX-License-Identifier: Apache-2.0
// States of a path, what moves it from one to another, and why (protocol.md §4.2).
#pragma once

#include <cstdint>

#include "protocol/transition_table.h"

namespace mrc::protocol
{

enum class path_state : std::uint8_t {
    good,
    kept, // would be ASSUMED_BAD, but nothing better is left
    assumed_bad,
    denied,
};

enum class path_event : std::uint8_t {
    retire, // blamed, and no floor keeps it in use
    keep,   // blamed, but a floor does
    calm,   // not blamed for a second
    prove,  // it delivers again
    deny,   // by the controller
    allow,
};

inline constexpr auto path_transitions = [] {
    using from = path_state;
    using on = path_event;
    using to = path_state;
    return transition_table<path_state, path_event, 4, 6>{
        {from::good, on::retire, to::assumed_bad}, {from::good, on::keep, to::kept},
        {from::good, on::deny, to::denied},        {from::kept, on::retire, to::assumed_bad},
        {from::kept, on::keep, to::kept}, // for another second
        {from::kept, on::calm, to::good},          {from::kept, on::deny, to::denied},
        {from::assumed_bad, on::prove, to::good},  {from::assumed_bad, on::deny, to::denied},
        {from::denied, on::allow, to::good},
    };
}();

// What moved a path to its state.
enum class path_cause : std::uint8_t {
    none,        // it has been there from the beginning
    silence,     // packets or heartbeats unanswered, while other paths delivered
    loss,        // `loss_limit` of its last `loss_span` packets
    always_skip, // the peer asks for it: SACK m = ALWAYS_SKIP
    calm,        // none of these for a second
    probes,      // answered
    deliveries,  // of packets sent since it fell silent
    controller,
};

struct path_condition {
    path_state state = path_state::good;
    path_cause cause = path_cause::none;
    friend bool operator==(const path_condition &, const path_condition &) = default;
};

// Packets are sent on paths in these states.
[[nodiscard]] constexpr bool is_in_use(path_state state)
{
    return state == path_state::good || state == path_state::kept;
}

} // namespace mrc::protocol
