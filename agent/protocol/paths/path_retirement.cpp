// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/path_retirement.h"

#include <algorithm>

#include "protocol/paths/active_paths.h"

namespace mrc::protocol
{

namespace
{

// As long as a path that relapses may have to wait before it is in use again (D12).
constexpr duration kept_memory = std::chrono::seconds{1};

bool may_retire(const path_group_state &group, unsigned slot, bool by_loss)
{
    if (!group.paths[slot].active || find_backup(group, slot))
        return true;
    if (good_on_usable_planes(group) <= group.config.min_active)
        return false;
    // Half of a plane may go for its losses: beyond that the loss is not a path's.
    return !by_loss ||
           (group.good_active[group.plane_at(slot).value] - 1u) * 2 >= std::max(group.config.active_per_plane, 2u);
}

void retire(path_group_state &group, unsigned slot, path_cause cause, std::optional<instant> silent_since, instant now)
{
    if (!step(group, slot, path_event::retire, cause))
        return;
    find_substitute(group, slot);
    group.prober.start(slot, now);
    if (silent_since) {
        group.paths[slot].silenced = true;
        group.paths[slot].silent_since = *silent_since;
        ++group.silence_generation;
        ++group.local->ways_changed;
    }
}

void keep(path_group_state &group, unsigned slot, path_cause cause, instant now)
{
    if (!step(group, slot, path_event::keep, cause))
        return;
    path_record &path = group.paths[slot];
    path.kept_until = now + kept_memory;
    group.kept_deadline = std::min(group.kept_deadline, path.kept_until);
}

void readmit(path_group_state &group, unsigned slot, path_event event, path_cause cause, std::optional<instant> now)
{
    if (!step(group, slot, event, cause))
        return;
    path_record &path = group.paths[slot];
    path.silenced = false;
    path.with_plane = false;
    group.evidence.forget(slot);
    group.prober.stop(slot, now);
    find_place(group, slot);
}

} // namespace

void blame(path_group_state &group, unsigned slot, path_cause cause, std::optional<instant> silent_since, instant now)
{
    if (!group.in_use(slot))
        return;
    if (may_retire(group, slot, !silent_since))
        retire(group, slot, cause, silent_since, now);
    else
        keep(group, slot, cause, now);
}

void forget_kept(path_group_state &group, instant now)
{
    if (now < group.kept_deadline)
        return;
    group.kept_deadline = never;
    for (unsigned slot = 0; slot < group.size(); ++slot) {
        if (group.paths[slot].state != path_state::kept)
            continue;
        if (group.paths[slot].kept_until <= now)
            step(group, slot, path_event::calm, path_cause::calm);
        else
            group.kept_deadline = std::min(group.kept_deadline, group.paths[slot].kept_until);
    }
}

void prove(path_group_state &group, unsigned slot, path_cause cause, instant now)
{
    const bool together = group.paths[slot].with_plane;
    readmit(group, slot, path_event::prove, cause, now);
    if (!together)
        return;
    const unsigned first = group.first_of(group.plane_at(slot));
    for (unsigned other = first; other < first + group.config.uplinks; ++other)
        if (group.paths[other].with_plane)
            readmit(group, other, path_event::prove, cause, now);
}

void deny(path_group_state &group, unsigned slot)
{
    if (!step(group, slot, path_event::deny, path_cause::controller))
        return;
    group.prober.stop(slot, std::nullopt);
    group.paths[slot].silenced = false;
    group.paths[slot].with_plane = false;
    find_substitute(group, slot);
}

void allow(path_group_state &group, unsigned slot)
{
    if (group.exists(slot))
        readmit(group, slot, path_event::allow, path_cause::controller, std::nullopt);
}

// Newcomers first: they are the backups of those that leave.
void exchange(path_group_state &group, const std::vector<profile_entry> &universe,
              const std::vector<std::uint32_t> &denied)
{
    std::vector<ev> next(group.size());
    for (const profile_entry &entry : universe)
        next[entry.slot] = entry.entropy;
    const auto name = [](path_record &path, ev entropy) {
        if (path.entropy.value != 0)
            path.former = path.entropy;
        path.entropy = entropy;
    };
    for (const profile_entry &entry : universe) {
        path_record &path = group.paths[entry.slot];
        if (path.entropy != entry.entropy)
            name(path, entry.entropy);
        if (std::ranges::find(denied, entry.slot) != denied.end())
            deny(group, entry.slot);
        else if (path.state == path_state::denied)
            allow(group, entry.slot);
    }
    for (unsigned slot = 0; slot < group.size(); ++slot) {
        if (next[slot].value != 0 || !group.exists(slot))
            continue;
        deny(group, slot);
        name(group.paths[slot], {});
    }
}

} // namespace mrc::protocol
