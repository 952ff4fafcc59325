// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/path_blame.h"

namespace mrc::protocol
{

namespace
{

// Nothing of the plane reaches the peer any more. While other hosts behind its T0 hear on it no path is to blame, but
// the link from the leaf to this host; when none does, both may be.
bool blame_plane(requester_state &sender, std::uint16_t slot, instant sent_at, instant now)
{
    const route &way = sender.way;
    const plane_index plane = way.paths.path(slot).plane;
    if (way.peer.suspected().has(plane))
        return true;
    if (!way.suspects_planes || !way.peer.on_missing(plane, sent_at, sender.skew.tolerance()) ||
        !way.peer.suspect(plane, way.usable(), now))
        return false;
    if (!way.paths.plane_delivers(plane, sent_at))
        way.paths.on_plane_silence(slot, sent_at, now);
    return true;
}

} // namespace

void tell_selector(requester_state &sender, std::uint16_t slot, path_feedback what, instant now)
{
    sender.selector.on_time(now, sender.rtt.smoothed());
    sender.selector.on_feedback(slot, what);
}

void blame_loss(requester_state &sender, const transmission &sent, instant now)
{
    if (sent.order <= sender.blame_floor)
        return;
    if (!blame_plane(sender, sent.slot, sent.sent_at, now))
        sender.way.paths.on_loss(sent.slot, now);
    tell_selector(sender, sent.slot, path_feedback::lost, now);
}

void blame_age(requester_state &sender, const transmission &sent, instant now)
{
    if (sent.order > sender.blame_floor)
        blame_missing(sender, sent.slot, sent.sent_at, now);
}

void doubt(requester_state &sender, const transmission &sent, instant now)
{
    const plane_index plane = sender.way.paths.path(sent.slot).plane;
    if (sent.order > sender.blame_floor && !sender.way.peer.delivered_since(plane, sent.sent_at))
        sender.way.paths.on_late(sent.slot, sent.sent_at, now);
}

void blame_silence(requester_state &sender, const transmission &sent, instant now)
{
    if (sent.order > sender.blame_floor && !blame_plane(sender, sent.slot, sent.sent_at, now))
        sender.way.paths.on_silence(sent.slot, sent.sent_at, now, sender.skew.tolerance());
}

// The path may deliver still, or nothing any more; a single loss cannot tell. The group judges.
void blame_missing(requester_state &sender, std::uint16_t slot, instant sent_at, instant now)
{
    if (!blame_plane(sender, slot, sent_at, now))
        sender.way.paths.on_unanswered(slot, sent_at, now, sender.skew.tolerance());
    tell_selector(sender, slot, path_feedback::lost, now);
}

} // namespace mrc::protocol
