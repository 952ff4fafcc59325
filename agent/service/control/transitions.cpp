// SPDX-License-Identifier: Apache-2.0
#include "service/control/transitions.h"

#include <cerrno>

#include <fmt/format.h>

namespace mrc::service::control
{

std::string_view text(session::profile_state state)
{
    switch (state) {
    case session::profile_state::init:
        return "INIT";
    case session::profile_state::offline:
        return "OFFLINE";
    case session::profile_state::online:
        return "ONLINE";
    }
    return "unknown";
}

namespace
{

constexpr bool is_state(std::uint32_t number)
{
    return number <= static_cast<std::uint32_t>(session::profile_state::online);
}

} // namespace

session::outcome<std::optional<session::profile_state>>
transition_of(session::profile_state from, std::optional<std::uint32_t> asked, std::optional<std::uint32_t> current)
{
    if (current && *current != static_cast<std::uint32_t>(from))
        return std::unexpected{session::refusal{
            EINVAL, fmt::format("the profile is {}; the call takes it to be in state {}", text(from), *current)}};
    if (!asked || *asked == static_cast<std::uint32_t>(from))
        return std::optional<session::profile_state>{};
    if (!is_state(*asked))
        return std::unexpected{session::refusal{EINVAL, fmt::format("found state {}, allowed is 0 to 2", *asked)}};
    const auto to = static_cast<session::profile_state>(*asked);
    if (!profile_transitions.next(from, to))
        return std::unexpected{session::refusal{
            EINVAL, fmt::format("the profile is {} and cannot go {} without OFFLINE between", text(from), text(to))}};
    return std::optional{to};
}

session::outcome<> check_modifiable(session::profile_state from, std::optional<session::profile_state> to,
                                    bool attributes, bool online_attributes)
{
    if (from == session::profile_state::init && to != session::profile_state::offline &&
        (attributes || online_attributes))
        return std::unexpected{
            session::refusal{EINVAL, "the profile is INIT; attributes are set on the way to OFFLINE"}};
    if (from == session::profile_state::offline && to == session::profile_state::init &&
        (attributes || online_attributes))
        return std::unexpected{session::refusal{EINVAL, "the way to INIT forgets all attributes and takes none"}};
    if (from == session::profile_state::online && attributes)
        return std::unexpected{session::refusal{EINVAL, "the profile is ONLINE; this is changed when it is OFFLINE"}};
    return {};
}

} // namespace mrc::service::control
