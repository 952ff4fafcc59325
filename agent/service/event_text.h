// SPDX-License-Identifier: Apache-2.0
// What a transition is called where people read of it: the same in the daemon's log and in mrcctl.
#pragma once

#include <string>

#include "mrc/abi/maps.h"

namespace mrc::service
{

// Empty: nothing of the kind is known.
struct event_text {
    std::string object;  // "plane 1 to leaf 4 (3 paths)"
    std::string what;    // "out of use"
    std::string reason;  // "packets are lost"
    std::string figures; // "812 packets sent there, 31 lost, last acknowledged 12.3 ms before"
};
[[nodiscard]] event_text text_of(const mrc_event_row &event);

// "plane 1 to leaf 4 (3 paths): out of use, packets are lost"
[[nodiscard]] std::string line_of(const mrc_event_row &event);

} // namespace mrc::service
