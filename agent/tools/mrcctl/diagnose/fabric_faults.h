// SPDX-License-Identifier: Apache-2.0
// Which link or switch of an SRv6 fabric loses packets, by round trips that turn back at each switch on the way: what
// a longer one loses and a shorter one does not is lost on the part between.
//
// trip to                lost, and shorter ones not    at fault
// own leaf               yes                           this host's link (or the leaf: no other way leads there)
// spine                  on one of several             a detour by another spine and the peer's leaf reaches the spine:
//                                                      the link; it does not: the spine; there is none: one of both
// spine                  on all                        the own leaf, or all of its uplinks
// far leaf               by one of several spines      the link between them
// far leaf               by all spines                 the leaf
#pragma once

#include "tools/mrcctl/diagnose/finding.h"
#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

// The switches let a host's packets back to itself, as the trips need it.
[[nodiscard]] bool has_round_trips(const snapshot &at);
// Of one plane whose port is usable.
[[nodiscard]] findings faults_of_plane(const snapshot &at, std::uint32_t plane);
// Every port loses alike: none of them is to blame.
[[nodiscard]] findings losses_of_host(const snapshot &at);

} // namespace mrc::ctl::diagnose
