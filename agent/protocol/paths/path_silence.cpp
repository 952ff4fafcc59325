// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/path_silence.h"

#include <algorithm>

#include "protocol/paths/active_paths.h"
#include "protocol/paths/path_retirement.h"

namespace mrc::protocol
{

namespace
{

// Packets of a plane that must have gone unanswered before the plane as a whole is suspected.
constexpr std::uint32_t plane_suspicion = 3;

// Since when nothing sent on the path has got through, as far as anybody has complained.
instant quiet_since(path_group_state &group, unsigned slot, instant sent_at)
{
    instant &since = group.paths[slot].suspected_since;
    if (group.evidence.delivered(slot) >= since || sent_at < since)
        since = sent_at;
    return since;
}

bool left_behind(const path_group_state &group, unsigned slot, instant since, duration tolerance)
{
    return tolerance == duration{0} || group.evidence.delivered_elsewhere(slot, since + tolerance);
}

// As long as other planes deliver: a host that is off its CPU is no evidence against any.
void suspend_plane(path_group_state &group, unsigned slot, instant since, instant now)
{
    const plane_index plane = group.plane_at(slot);
    plane_mask drawn = group.usable() & good_planes(group);
    if (!drawn.has(plane))
        return;
    drawn.set(plane, false);
    if (!drawn.empty() && group.evidence.delivered_elsewhere(slot, since))
        group.suspension.begin(plane, since, now);
}

void judge_quiet(path_group_state &group, unsigned slot, bool whole_plane, instant since, instant now,
                 duration tolerance)
{
    if (left_behind(group, slot, since, tolerance)) {
        silence_path(group, slot, whole_plane, since, now);
        return;
    }
    group.count_loss(slot);
    if (whole_plane)
        suspend_plane(group, slot, since, now);
}

} // namespace

bool plane_silent(const path_group_state &group, plane_index plane, instant since)
{
    if (group.planes[plane.value].delivered >= since)
        return false;
    const unsigned first = group.first_of(plane);
    std::uint32_t unanswered = 0;
    for (unsigned slot = first; slot < first + group.config.uplinks; ++slot)
        unanswered += group.evidence.unanswered(slot);
    return unanswered >= plane_suspicion;
}

void on_silence(path_group_state &group, unsigned slot, instant sent_at, instant now, duration tolerance)
{
    const instant since = quiet_since(group, slot, sent_at);
    judge_quiet(group, slot, plane_silent(group, group.plane_at(slot), since), since, now, tolerance);
}

void on_unanswered(path_group_state &group, unsigned slot, instant sent_at, instant now, duration tolerance)
{
    group.evidence.on_loss(slot);
    const instant since = quiet_since(group, slot, sent_at);
    const plane_index plane = group.plane_at(slot);
    std::uint8_t &missing = group.planes[plane.value].missing;
    missing = static_cast<std::uint8_t>(std::min<unsigned>(missing + 1u, plane_suspicion));
    // One loss on a plane that lags behind the others is no silence of the plane: its next packets may be about to
    // arrive.
    const bool plane_quiet = missing == plane_suspicion && plane_silent(group, plane, sent_at);
    const bool path_quiet = group.evidence.recent_losses(slot, group.config.loss_span) >= group.config.loss_limit &&
                            group.evidence.delivered(slot) < sent_at;
    if (plane_quiet || path_quiet)
        judge_quiet(group, slot, plane_quiet, since, now, tolerance);
    else
        group.count_loss(slot);
}

void on_late(path_group_state &group, unsigned slot, instant sent_at, instant now)
{
    const plane_index plane = group.plane_at(slot);
    if (!group.suspension.planes().has(plane) && plane_silent(group, plane, sent_at))
        suspend_plane(group, slot, sent_at, now);
}

void silence_path(path_group_state &group, unsigned slot, bool whole_plane, instant sent_at, instant now)
{
    const plane_index plane = group.plane_at(slot);
    group.count_loss(slot);
    if (!group.usable().has(plane))
        return;
    blame(group, slot, path_cause::silence, sent_at, now);
    if (whole_plane)
        silence_plane(group, plane, sent_at, now);
}

void silence_plane(path_group_state &group, plane_index plane, instant sent_at, instant now)
{
    group.suspension.end(plane);
    const instant heard = group.planes[plane.value].delivered;
    const unsigned first = group.first_of(plane);
    for (unsigned slot = first; slot < first + group.config.uplinks; ++slot) {
        blame(group, slot, path_cause::silence, sent_at, now);
        path_record &path = group.paths[slot];
        path.with_plane = path.silenced && path.silent_since > heard;
    }
}

} // namespace mrc::protocol
