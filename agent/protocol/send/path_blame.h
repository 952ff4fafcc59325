// SPDX-License-Identifier: Apache-2.0
// What a lost packet says about its path. The selector is this QP's own; the group is shared, and judges. Packets sent
// up to `blame_floor` say nothing: the peer, or this host, was away.
//
// the packet                                                  its path
// is lost, a later one of its path has arrived                one loss
// is lost, later ones of other paths have arrived             unanswered: counts only when repeated, path_group.h
// is late by more than paths have lagged of late              asked, if its plane is quiet: plane_suspension.h
// timed out, later ones have arrived, none of its path        silent: ASSUMED_BAD, path_group.h
// is missing, and of its plane nothing reaches this peer,
// while other hosts behind its T0 hear on the plane           not to blame: the peer's link is, peer_planes.h
// the same, and no other host hears either                    silent, and the peer's link is suspected besides
#pragma once

#include <cstdint>

#include "protocol/send/requester_state.h"

namespace mrc::protocol
{

void blame_loss(requester_state &sender, const transmission &sent, instant now);
void blame_age(requester_state &sender, const transmission &sent, instant now);
// It is late, but not lost yet: is anything of its plane getting through?
void doubt(requester_state &sender, const transmission &sent, instant now);
void blame_silence(requester_state &sender, const transmission &sent, instant now);
// What became of a packet on the path, for this QP's selector alone.
void tell_selector(requester_state &sender, std::uint16_t slot, path_feedback what, instant now);
// What was sent on the path then did not arrive, while others did.
void blame_missing(requester_state &sender, std::uint16_t slot, instant sent_at, instant now);

} // namespace mrc::protocol
