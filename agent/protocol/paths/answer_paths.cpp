// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/answer_paths.h"

#include "protocol/paths/active_paths.h"

namespace mrc::protocol
{

namespace
{

std::optional<std::uint16_t> reverse_slot(const path_group_state &group, plane_index plane)
{
    const auto slot = group.reverse.slot_of(plane);
    return slot && group.carries_answers(*slot) ? slot : std::nullopt;
}

// Of the planes in turn, what `choose` finds on the first where it finds anything.
template <typename choice>
std::optional<std::uint16_t> by_turns(path_group_state &group, plane_mask among, choice choose)
{
    for (unsigned step = 0; step < group.config.planes; ++step) {
        const unsigned turn = group.answer_turn++;
        const plane_index plane{static_cast<std::uint8_t>(turn % group.config.planes)};
        if (!among.has(plane))
            continue;
        if (const std::optional<std::uint16_t> slot = choose(plane))
            return slot;
    }
    return std::nullopt;
}

template <typename condition>
std::optional<std::uint16_t> any_path(path_group_state &group, plane_mask among, condition fits)
{
    return by_turns(group, among, [&](plane_index plane) -> std::optional<std::uint16_t> {
        for (unsigned step = 0; step < group.config.active_per_plane; ++step) {
            const unsigned position = (group.answer_turn / group.config.planes + step) % group.config.active_per_plane;
            const std::uint16_t slot = group.active_slot(plane, position);
            if (fits(slot))
                return slot;
        }
        return std::nullopt;
    });
}

std::optional<std::uint16_t> answer_elsewhere(path_group_state &group, std::optional<std::uint16_t> cause,
                                              plane_mask usable, plane_mask wanted)
{
    if (const auto slot = by_turns(group, wanted, [&](plane_index plane) { return reverse_slot(group, plane); }))
        return slot;
    if (const auto slot = any_path(group, wanted, [&](std::uint16_t each) { return group.carries_answers(each); }))
        return slot;
    if (cause && usable.has(group.plane_at(*cause)) && group.in_use(*cause))
        return cause;
    if (const auto slot = any_path(group, usable, [&](std::uint16_t each) { return group.in_use(each); }))
        return slot;
    return any_path(group, usable, [&](std::uint16_t each) { return group.paths[each].state != path_state::denied; });
}

} // namespace

std::optional<path_choice> answer_path(path_group_state &group, path_index cause, plane_mask usable)
{
    const plane_mask wanted = usable & good_planes(group) & plane_mask{~group.reverse.silent().bits()};
    const auto slot = group.slot_at(cause);
    if (slot && wanted.has(group.plane_at(*slot))) [[likely]] {
        if (group.carries_answers(*slot)) [[likely]]
            return group.path(*slot);
        if (const auto reverse = reverse_slot(group, group.plane_at(*slot)))
            return group.path(*reverse);
    }
    const auto other = answer_elsewhere(group, slot, usable, wanted);
    return other ? std::optional{group.path(*other)} : std::nullopt;
}

} // namespace mrc::protocol
