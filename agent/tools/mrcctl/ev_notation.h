// SPDX-License-Identifier: Apache-2.0
// EVs, their states and fields as they are written on the command line and in tables.
#pragma once

#include <array>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <mrc_ctl.h>

namespace mrc::ctl
{

// What is wrong with a text, and what is allowed.
template <typename T>
using parsed = std::expected<T, std::string>;

// Bits in hexadecimal digits, the first bit first, "@", and the port: 00000801@2. Zero bits at the end may be left out.
[[nodiscard]] parsed<mrc_ctl_ev> parse_ev(std::string_view text);
// At least 8 digits; zero bytes behind them are left out.
[[nodiscard]] std::string ev_text(const mrc_ctl_ev &ev);

// OLD=NEW, of REPLACE_EV.
[[nodiscard]] parsed<std::pair<mrc_ctl_ev, mrc_ctl_ev>> parse_replacement(std::string_view text);

// width=16,init=0x100,mask=0xf,min=0,max=15; all but the width may be left out: init and min 0, all bits of the mask,
// and the most of max.
[[nodiscard]] parsed<mrc_ctl_ev_field> parse_field(std::string_view text);

template <typename T>
struct named_value {
    std::string_view name;
    T value;
};
inline constexpr std::array ev_state_names{
    named_value<mrc_ctl_ev_state>{"good", MRC_CTL_EV_GOOD},
    named_value<mrc_ctl_ev_state>{"assumed_bad", MRC_CTL_EV_ASSUMED_BAD},
    named_value<mrc_ctl_ev_state>{"denied", MRC_CTL_EV_DENIED},
    named_value<mrc_ctl_ev_state>{"unknown", MRC_CTL_EV_UNKNOWN},
};
inline constexpr std::array ev_mode_names{
    named_value<mrc_ctl_ev_mode>{"auto", MRC_CTL_EV_MODE_AUTO},
    named_value<mrc_ctl_ev_mode>{"exp", MRC_CTL_EV_MODE_EXP},
    named_value<mrc_ctl_ev_mode>{"gen", MRC_CTL_EV_MODE_GEN},
};
inline constexpr std::array ev_format_mode_names{
    named_value<mrc_ctl_ev_fmt_mode>{"stev", MRC_CTL_EV_FMT_MODE_STEV},
    named_value<mrc_ctl_ev_fmt_mode>{"srv6", MRC_CTL_EV_FMT_MODE_SRV6},
    named_value<mrc_ctl_ev_fmt_mode>{"udp", MRC_CTL_EV_FMT_MODE_UDP},
};
inline constexpr std::array profile_state_names{
    named_value<mrc_ctl_profile_state>{"INIT", MRC_CTL_PROFILE_INIT},
    named_value<mrc_ctl_profile_state>{"OFFLINE", MRC_CTL_PROFILE_OFFLINE},
    named_value<mrc_ctl_profile_state>{"ONLINE", MRC_CTL_PROFILE_ONLINE},
};

// "?" for a value that has none.
template <typename T, std::size_t Count>
[[nodiscard]] std::string name_of(const std::array<named_value<T>, Count> &names, T value)
{
    for (const auto &one : names)
        if (one.value == value)
            return std::string{one.name};
    return "?";
}

} // namespace mrc::ctl
