// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/cc_profiles.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

using configuration = mrc_ctl_cc_nscc_cfg;
using member = std::variant<std::uint8_t configuration::*, std::uint32_t configuration::*, float configuration::*>;

constexpr std::array members{
    named_value<member>{"disable_qa", &configuration::disable_qa},
    named_value<member>{"adjust_bytes_threshold", &configuration::adjust_bytes_threshold},
    named_value<member>{"adjust_period_threshold", &configuration::adjust_period_threshold},
    named_value<member>{"base_rtt", &configuration::base_rtt},
    named_value<member>{"eta", &configuration::eta},
    named_value<member>{"fi", &configuration::fi},
    named_value<member>{"fi_scale", &configuration::fi_scale},
    named_value<member>{"gamma", &configuration::gamma},
    named_value<member>{"max_md_jump", &configuration::max_md_jump},
    named_value<member>{"max_cwnd", &configuration::max_cwnd},
    named_value<member>{"qa_gate", &configuration::qa_gate},
    named_value<member>{"qa_threshold", &configuration::qa_threshold},
    named_value<member>{"target_delay", &configuration::target_delay},
};

std::vector<std::string_view> member_names()
{
    std::vector<std::string_view> names;
    names.reserve(members.size());
    for (const auto &one : members)
        names.push_back(one.name);
    return names;
}

const named_value<member> *find_member(std::string_view name)
{
    const auto *const found = std::ranges::find(members, name, &named_value<member>::name);
    return found == members.end() ? nullptr : found;
}

template <typename T>
bool holds(double value)
{
    if constexpr (std::is_integral_v<T>)
        return value >= 0 && value <= std::numeric_limits<T>::max() && value == std::trunc(value);
    else
        return std::isfinite(value) && std::abs(value) <= static_cast<double>(std::numeric_limits<T>::max());
}

void apply(configuration &to, const std::vector<cc_setting> &settings)
{
    for (const auto &setting : settings)
        for (const auto &known : members)
            if (known.name == setting.first)
                std::visit([&]<typename T>(T configuration::*place) { to.*place = static_cast<T>(setting.second); },
                           known.value);
}

// 0.1, not what the nearest float is in decimal digits.
json::value shortest(float value)
{
    const std::string text = fmt::format("{}", value);
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

json::object view_of(const configuration &from)
{
    json::object view;
    // The analyzer does not follow pointers to members through std::visit and takes what they lead to for unset.
    // NOLINTBEGIN(clang-analyzer-core.CallAndMessage)
    for (const auto &[name, place] : members)
        std::visit(
            [&]<typename T>(T configuration::*value) {
                if constexpr (std::is_floating_point_v<T>)
                    view[name] = shortest(from.*value);
                else
                    view[name] = from.*value;
            },
            place);
    // NOLINTEND(clang-analyzer-core.CallAndMessage)
    return view;
}

mrc_ctl_cc_profile_attr queried(const controller_device &device, std::uint64_t id)
{
    mrc_ctl_cc_profile_attr attributes{};
    need_profile(device, cc_profiles, id);
    if (::mrc_ctl_query_cc_profile(device.mrc(), id, &attributes,
                                   MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM |
                                       MRC_CTL_CC_PROFILE_CONFIG) != 0)
        fail_call("query " + title_of(cc_profiles.name, id));
    return attributes;
}

// nullptr: the profile has no algorithm to configure.
const configuration *configuration_of(const mrc_ctl_cc_profile_attr &attributes)
{
    return static_cast<const configuration *>(attributes.cc_config);
}

std::vector<std::string> algorithms_of(const controller_device &device)
{
    mrc_ctl_device_attr attributes{};
    if (::mrc_ctl_query_device(device.verbs(), &attributes) != 0)
        fail_call("query the device");
    std::vector<std::string> names;
    for (const char **name = attributes.cc.algorithms; *name != nullptr; ++name)
        names.emplace_back(*name);
    return names;
}

// What the settings change; without a profile that has one they have to be complete.
configuration base_of(const controller_device &device, const new_cc_profile &wanted)
{
    const mrc_ctl_cc_profile_attr from = queried(device, wanted.from);
    if (const configuration *known = configuration_of(from))
        return *known;
    std::vector<std::string_view> missing;
    for (const std::string_view name : member_names())
        if (std::ranges::find(wanted.settings, name, &cc_setting::first) == wanted.settings.end())
            missing.push_back(name);
    if (!missing.empty())
        throw ctl_error{fmt::format("CC profile {} has no algorithm to take values from; name another with --from, or "
                                    "give also: {}",
                                    wanted.from, fmt::join(missing, ", "))};
    return {};
}

} // namespace

parsed<cc_setting> parse_cc_setting(std::string_view text)
{
    const std::size_t at = std::min(text.find('='), text.size());
    const std::string_view name = text.substr(0, at);
    const std::string_view number = text.substr(std::min(text.size(), at + 1));
    const auto *const known = find_member(name);
    if (known == nullptr)
        return std::unexpected{
            fmt::format("'{}' is no setting; allowed, with =VALUE: {}", text, fmt::join(member_names(), ", "))};
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool fits = std::visit([&]<typename T>(T configuration::*) { return holds<T>(value); }, known->value);
    if (number.empty() || error != std::errc{} || end != number.data() + number.size() || !fits)
        return std::unexpected{fmt::format("'{}': allowed for {} is a number that fits it", text, name)};
    return cc_setting{name, value};
}

json::object cc_profile_of(const controller_device &device, std::uint64_t id)
{
    const mrc_ctl_cc_profile_attr attributes = queried(device, id);
    const configuration *const known = configuration_of(attributes);
    return {{"id", id},
            {"state", json::string{name_of(profile_state_names, attributes.profile_state)}},
            {"algorithm", attributes.algorithm != nullptr ? json::value(attributes.algorithm) : json::value(nullptr)},
            {"config", known != nullptr ? json::value(view_of(*known)) : json::value(nullptr)}};
}

json::array cc_profiles_of(const controller_device &device)
{
    json::array rows;
    for (const std::uint64_t id : profile_ids(device, cc_profiles.list, cc_profiles.name))
        rows.push_back(cc_profile_of(device, id));
    return rows;
}

void create_cc_profile(const controller_device &device, std::uint64_t id, const new_cc_profile &wanted)
{
    need_no_profile(device, cc_profiles, id);
    const std::string algorithm = wanted.algorithm ? *wanted.algorithm : algorithms_of(device).front();
    const bool none = algorithm == "none";
    if (none && !wanted.settings.empty())
        throw ctl_error{"no congestion control has no settings; leave out --algorithm none, or NAME=VALUE"};
    configuration changed = none ? configuration{} : base_of(device, wanted);
    apply(changed, wanted.settings);
    mrc_ctl_cc_profile_attr attributes{};
    attributes.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attributes.cur_profile_state = MRC_CTL_PROFILE_INIT;
    attributes.algorithm = none ? nullptr : algorithm.c_str();
    attributes.cc_config = &changed;
    const int mask = profile_state_bit | profile_current_bit | MRC_CTL_CC_PROFILE_ALGORITHM |
                     (none ? 0 : int{MRC_CTL_CC_PROFILE_CONFIG});
    if (::mrc_ctl_modify_cc_profile(device.mrc(), id, &attributes, mask) != 0)
        fail_call("create " + title_of(cc_profiles.name, id));
}

void set_cc_profile(const controller_device &device, std::uint64_t id, const std::vector<cc_setting> &settings)
{
    const mrc_ctl_cc_profile_attr known = queried(device, id);
    if (known.cc_config == nullptr)
        throw ctl_error{fmt::format("CC profile {} has no algorithm, and nothing to set", id)};
    configuration changed = *configuration_of(known);
    apply(changed, settings);
    mrc_ctl_cc_profile_attr attributes{};
    attributes.cc_config = &changed;
    if (::mrc_ctl_modify_cc_profile(device.mrc(), id, &attributes, MRC_CTL_CC_PROFILE_CONFIG) != 0)
        fail_call("change " + title_of(cc_profiles.name, id));
}

} // namespace mrc::ctl
