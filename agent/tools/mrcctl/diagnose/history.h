// SPDX-License-Identifier: Apache-2.0
// What the history of events adds to a snapshot: ports that flap, ports that peers say are out of use.
#pragma once

#include <cstdint>
#include <span>

#include "mrc/abi/maps.h"
#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

// `now_ns`: CLOCK_MONOTONIC. Events in their order.
void add_history(snapshot &to, std::span<const mrc_event_row> events, std::uint64_t now_ns);

} // namespace mrc::ctl::diagnose
