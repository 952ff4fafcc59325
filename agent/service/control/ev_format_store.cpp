// SPDX-License-Identifier: Apache-2.0
#include "service/control/ev_format_store.h"

#include <bit>
#include <cerrno>
#include <numeric>

#include <fmt/format.h>

#include "service/control/transitions.h"

namespace mrc::service::control
{

namespace
{

constexpr unsigned widest_field = 32; // its values are 32-bit numbers

ev_format built_in_format()
{
    return {.state = session::profile_state::online,
            .mode = session::ev_format_mode::stev,
            .widths = {32 - MRC_EV_ENTROPY_SHIFT, MRC_EV_ENTROPY_SHIFT - MRC_EV_UPLINK_SHIFT, MRC_EV_UPLINK_SHIFT}};
}

session::outcome<> check_widths(const ev_format &format)
{
    if (format.widths.size() > MRC_EV_FIELDS_MAX)
        return std::unexpected{session::refusal{
            E2BIG, fmt::format("found {} fields, allowed are {}", format.widths.size(), MRC_EV_FIELDS_MAX)}};
    for (std::size_t i = 0; i < format.widths.size(); ++i) {
        if (format.widths[i] == 0)
            return std::unexpected{session::refusal{EINVAL, fmt::format("field {} is 0 bits wide", i)}};
        if (format.widths[i] > widest_field)
            return std::unexpected{session::refusal{E2BIG, fmt::format("field {} is {} bits wide, allowed are 1 to {}",
                                                                       i, format.widths[i], widest_field)}};
    }
    if (format.width() > widest(format.mode))
        return std::unexpected{
            session::refusal{E2BIG, fmt::format("the fields are {} bits wide together, allowed are {}", format.width(),
                                                widest(format.mode))}};
    return {};
}

session::outcome<> apply(ev_format &format, const ev_format_change &change)
{
    if (change.mode) {
        if ((*change.mode & session::ev_format_modes) == 0 || (*change.mode & ~session::ev_format_modes) != 0 ||
            !std::has_single_bit(*change.mode))
            return std::unexpected{
                session::refusal{EINVAL, fmt::format("found mode {}, allowed is 1, 2 or 4", *change.mode)}};
        format.mode = static_cast<session::ev_format_mode>(*change.mode);
    }
    if (change.widths) {
        if (change.widths->empty())
            return std::unexpected{session::refusal{EINVAL, "a format needs at least one field"}};
        format.widths = *change.widths;
    }
    return check_widths(format);
}

session::outcome<> check_transition(const ev_format &format, const ev_format_change &change, session::profile_state to)
{
    if (format.state == session::profile_state::init && !change.mode)
        return std::unexpected{session::refusal{EINVAL, "OFFLINE needs the mode"}};
    if (to == session::profile_state::online && format.widths.empty())
        return std::unexpected{session::refusal{EINVAL, "ONLINE needs the fields"}};
    if (format.state == session::profile_state::online && format.online_profiles != 0)
        return std::unexpected{
            session::refusal{EBUSY, fmt::format("{} EV profiles with this format are ONLINE", format.online_profiles)}};
    return {};
}

} // namespace

unsigned ev_format::width() const
{
    return std::accumulate(widths.begin(), widths.end(), 0U);
}

unsigned widest(session::ev_format_mode mode)
{
    switch (mode) {
    case session::ev_format_mode::stev:
        return 32;
    case session::ev_format_mode::udp:
        return 16;
    case session::ev_format_mode::srv6:
        return 128;
    }
    return 0;
}

ev_format_store::ev_format_store(const session::profile_limits &limits) : limits_{limits}
{
    formats_.emplace(session::built_in_profile, built_in_format());
}

const ev_format &ev_format_store::find(std::uint64_t id) const
{
    static const ev_format untouched;
    const auto found = formats_.find(id);
    return found == formats_.end() ? untouched : found->second;
}

session::outcome<> ev_format_store::modify(std::uint64_t id, const ev_format_change &change)
{
    ev_format format = find(id);
    const bool attributes = change.mode || change.widths;
    const auto asked = transition_of(format.state, change.state, change.current);
    if (!asked)
        return std::unexpected{asked.error()};
    const std::optional<session::profile_state> to = *asked;
    if (id == session::built_in_profile && (attributes || to))
        return std::unexpected{session::refusal{EINVAL, "format 0 is built in and cannot be changed"}};
    if (auto allowed = check_modifiable(format.state, to, attributes, false); !allowed)
        return allowed;
    if (attributes)
        if (auto applied = apply(format, change); !applied)
            return applied;
    if (!to) {
        if (format.state != session::profile_state::init)
            formats_[id] = std::move(format);
        return {};
    }
    if (auto allowed = check_transition(format, change, *to); !allowed)
        return allowed;
    if (format.state == session::profile_state::init && formats_.size() > limits_.formats)
        return std::unexpected{session::refusal{EIO, fmt::format("there are {} formats already", limits_.formats)}};
    format.state = *to;
    if (format.state == session::profile_state::init)
        formats_.erase(id);
    else
        formats_[id] = std::move(format);
    return {};
}

} // namespace mrc::service::control
