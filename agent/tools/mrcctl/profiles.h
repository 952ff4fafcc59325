// SPDX-License-Identifier: Apache-2.0
// What EV, EV format and CC profiles have in common: numbers, and the life cycle INIT → OFFLINE → ONLINE and back.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mrc/control.h"
#include "tools/mrcctl/device.h"
#include "tools/mrcctl/ev_notation.h"

namespace mrc::ctl
{

// One kind of profile: its attribute structure and its two calls.
template <typename Attributes>
struct profile_kind {
    using attributes = Attributes;
    const char *name;    // "EV profile"
    const char *command; // "ev-profile"
    mrc_ctl_profile_list list;
    int (*query)(mrc_context *, std::uint64_t, Attributes *, int);
    int (*modify)(mrc_context *, std::uint64_t, Attributes *, int);
};
inline constexpr profile_kind<mrc_ctl_ev_fmt_profile_attr> ev_formats{
    "EV format", "ev-format", MRC_CTL_LIST_EV_FMT_PROFILES, ::mrc_ctl_query_ev_fmt_profile,
    ::mrc_ctl_modify_ev_fmt_profile};
inline constexpr profile_kind<mrc_ctl_ev_profile_attr> ev_profiles{
    "EV profile", "ev-profile", MRC_CTL_LIST_EV_PROFILES, ::mrc_ctl_query_ev_profile, ::mrc_ctl_modify_ev_profile};
inline constexpr profile_kind<mrc_ctl_cc_profile_attr> cc_profiles{
    "CC profile", "cc-profile", MRC_CTL_LIST_CC_PROFILES, ::mrc_ctl_query_cc_profile, ::mrc_ctl_modify_cc_profile};

// These bits are the same for every kind.
inline constexpr int profile_state_bit = MRC_CTL_EV_PROFILE_STATE;
inline constexpr int profile_current_bit = MRC_CTL_EV_PROFILE_CUR_STATE;
static_assert(profile_state_bit == MRC_CTL_CC_PROFILE_STATE && profile_state_bit == MRC_CTL_EV_FMT_PROFILE_STATE);
static_assert(profile_current_bit == MRC_CTL_CC_PROFILE_CUR_STATE &&
              profile_current_bit == MRC_CTL_EV_FMT_PROFILE_CUR_STATE);

// Numbers of the profiles that exist, ascending. Throws ctl_error.
[[nodiscard]] std::vector<std::uint64_t> profile_ids(const controller_device &device, mrc_ctl_profile_list list,
                                                     std::string_view name);
// Throws ctl_error: there is no such profile, and which there are.
[[noreturn]] void refuse_unknown(const controller_device &device, mrc_ctl_profile_list list, std::string_view name,
                                 std::uint64_t id);
// Throws ctl_error: there is one already.
[[noreturn]] void refuse_known(std::string_view name, std::string_view command, std::uint64_t id);

[[nodiscard]] inline std::string title_of(std::string_view name, std::uint64_t id)
{
    return std::string{name} + " " + std::to_string(id);
}

template <typename Kind>
[[nodiscard]] mrc_ctl_profile_state state_of(const controller_device &device, const Kind &kind, std::uint64_t id)
{
    typename Kind::attributes attributes{};
    if (kind.query(device.mrc(), id, &attributes, profile_state_bit) != 0)
        fail_call("query " + title_of(kind.name, id));
    return attributes.profile_state;
}

template <typename Kind>
mrc_ctl_profile_state need_profile(const controller_device &device, const Kind &kind, std::uint64_t id)
{
    const mrc_ctl_profile_state state = state_of(device, kind, id);
    if (state == MRC_CTL_PROFILE_INIT)
        refuse_unknown(device, kind.list, kind.name, id);
    return state;
}

template <typename Kind>
void need_no_profile(const controller_device &device, const Kind &kind, std::uint64_t id)
{
    if (state_of(device, kind, id) != MRC_CTL_PROFILE_INIT)
        refuse_known(kind.name, kind.command, id);
}

// One step of the life cycle; to be where one is is none. Throws ctl_error.
template <typename Kind>
void go_to(const controller_device &device, const Kind &kind, std::uint64_t id, mrc_ctl_profile_state state)
{
    typename Kind::attributes attributes{};
    attributes.cur_profile_state = need_profile(device, kind, id);
    attributes.profile_state = state;
    if (kind.modify(device.mrc(), id, &attributes, profile_state_bit | profile_current_bit) != 0)
        fail_call("take " + title_of(kind.name, id) + " to " + name_of(profile_state_names, state));
}

// Of what was made halfway. The caller tells why it came to nothing.
template <typename Kind>
void forget(const controller_device &device, const Kind &kind, std::uint64_t id)
{
    typename Kind::attributes attributes{};
    attributes.profile_state = MRC_CTL_PROFILE_INIT;
    (void)kind.modify(device.mrc(), id, &attributes, profile_state_bit);
}

// A profile that was made to be ONLINE.
template <typename Kind>
void go_online_or_forget(const controller_device &device, const Kind &kind, std::uint64_t id)
{
    try {
        go_to(device, kind, id, MRC_CTL_PROFILE_ONLINE);
    } catch (...) {
        forget(device, kind, id);
        throw;
    }
}

} // namespace mrc::ctl
