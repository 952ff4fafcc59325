// SPDX-License-Identifier: Apache-2.0
// When nothing gets through on a path, or on its plane. Only what others delivered meanwhile is evidence
// (path_evidence.h). A whole plane is silent when several of its packets wait for answers and none of those sent since
// has got one; as long as that may be a lag it is suspected and avoided (plane_suspension.h), then its paths are
// retired together.
#pragma once

#include "protocol/paths/path_group_state.h"

namespace mrc::protocol
{

// Something that was sent on the path then got through.
inline void hear(path_group_state &group, unsigned slot, instant sent_at)
{
    const plane_index plane = group.plane_at(slot);
    group.evidence.on_delivered(slot, sent_at);
    plane_evidence &at = group.planes[plane.value];
    at.missing = 0;
    if (sent_at > at.delivered) {
        at.delivered = sent_at;
        at.slot = static_cast<std::uint16_t>(slot);
    }
    group.suspension.on_delivered(plane, sent_at);
}
// Several packets of the plane wait for an answer, and none of those sent since has got one.
[[nodiscard]] bool plane_silent(const path_group_state &group, plane_index plane, instant since);

// What queue pairs report: path_group.h.
void on_silence(path_group_state &group, unsigned slot, instant sent_at, instant now, duration tolerance);
void on_unanswered(path_group_state &group, unsigned slot, instant sent_at, instant now, duration tolerance);
void on_late(path_group_state &group, unsigned slot, instant sent_at, instant now);
// The path is silent, and with it, if `whole_plane`, all of its plane.
void silence_path(path_group_state &group, unsigned slot, bool whole_plane, instant sent_at, instant now);
void silence_plane(path_group_state &group, plane_index plane, instant sent_at, instant now);

} // namespace mrc::protocol
