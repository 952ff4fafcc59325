// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/active_paths.h"

#include <utility>

namespace mrc::protocol
{

namespace
{

void count_good(path_group_state &group, plane_index plane, int by)
{
    group.good_active[plane.value] = static_cast<std::uint16_t>(group.good_active[plane.value] + by);
    group.good_planes.set(plane, group.good_active[plane.value] != 0);
}

void take_place(path_group_state &group, unsigned newcomer, unsigned leaver)
{
    path_record &in = group.paths[newcomer];
    path_record &out = group.paths[leaver];
    const plane_index plane = group.plane_at(leaver);
    in.active = true;
    in.position = out.position;
    out.active = false;
    group.active_slots[plane.value * group.config.active_per_plane + in.position] =
        static_cast<std::uint16_t>(newcomer);
    count_good(group, plane, (is_in_use(in.state) ? 1 : 0) - (is_in_use(out.state) ? 1 : 0));
}

constexpr trace_reason traced(path_cause cause)
{
    return cause == path_cause::none
               ? trace_reason::none
               : static_cast<trace_reason>(static_cast<int>(trace_reason::silent) + static_cast<int>(cause) - 1);
}
static_assert(traced(path_cause::silence) == trace_reason::silent &&
              traced(path_cause::always_skip) == trace_reason::always_skip &&
              traced(path_cause::controller) == trace_reason::controller);

void trace_step(const path_group_state &group, unsigned slot)
{
    trace_sink &sink = trace_or_none(group.config.trace);
    trace(sink, [&] {
        const path_record &path = group.paths[slot];
        return trace_event{.kind = trace_kind::path,
                           .reason = traced(path.cause),
                           .at = sink.now(),
                           .entropy = path.entropy,
                           .value = static_cast<std::uint64_t>(path.state)};
    });
}

} // namespace

bool step(path_group_state &group, unsigned slot, path_event event, path_cause cause)
{
    path_record &path = group.paths[slot];
    const std::optional<path_state> to = path_transitions.next(path.state, event);
    if (!to)
        return false;
    if (*to == path.state)
        return true;
    if (path.active)
        count_good(group, group.plane_at(slot), (is_in_use(*to) ? 1 : 0) - (is_in_use(path.state) ? 1 : 0));
    path.state = *to;
    path.cause = cause;
    trace_step(group, slot);
    if (!std::exchange(path.changed, true))
        group.changed.put(slot);
    return true;
}

std::optional<std::uint16_t> find_backup(const path_group_state &group, unsigned slot)
{
    if (group.config.active_per_plane == group.config.uplinks)
        return std::nullopt;
    const unsigned first = group.first_of(group.plane_at(slot));
    for (unsigned other = first; other < first + group.config.uplinks; ++other)
        if (!group.paths[other].active && group.in_use(other))
            return static_cast<std::uint16_t>(other);
    return std::nullopt;
}

void find_substitute(path_group_state &group, unsigned slot)
{
    if (!group.paths[slot].active)
        return;
    if (const auto backup = find_backup(group, slot))
        take_place(group, *backup, slot);
}

void find_place(path_group_state &group, unsigned slot)
{
    if (group.paths[slot].active)
        return;
    for (unsigned position = 0; position < group.config.active_per_plane; ++position) {
        const std::uint16_t holder = group.active_slot(group.plane_at(slot), position);
        if (!group.in_use(holder)) {
            take_place(group, slot, holder);
            return;
        }
    }
}

unsigned good_on_usable_planes(const path_group_state &group)
{
    unsigned good = 0;
    for (unsigned plane = 0; plane < group.config.planes; ++plane)
        if (group.usable().has(plane_index{static_cast<std::uint8_t>(plane)}))
            good += group.good_active[plane];
    return good;
}

std::optional<path_transition> next_transition(path_group_state &group)
{
    while (const auto next = group.changed.take()) {
        const std::uint16_t slot = *next;
        path_record &path = group.paths[slot];
        path.changed = false;
        const path_state from = std::exchange(path.reported, path.state);
        if (from != path.state)
            return path_transition{path_index{group.config.base.value + slot}, path.entropy, from, path.state,
                                   path.cause};
    }
    return std::nullopt;
}

} // namespace mrc::protocol
