// SPDX-License-Identifier: Apache-2.0
// CC profiles: what there is, and what `mrcctl cc-profile` changes of it. Throws ctl_error when the daemon refuses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tools/mrcctl/profiles.h"

namespace mrc::ctl
{

// A member of mrc_ctl_cc_nscc_cfg by its name, and its value as it was written.
using cc_setting = std::pair<std::string, double>;

// NAME=VALUE.
[[nodiscard]] parsed<cc_setting> parse_cc_setting(std::string_view text);

[[nodiscard]] boost::json::array cc_profiles_of(const controller_device &device);
[[nodiscard]] boost::json::object cc_profile_of(const controller_device &device, std::uint64_t id);

struct new_cc_profile {
    std::optional<std::string> algorithm; // "none": no congestion control; nothing: the first that the daemon has
    std::uint64_t from = 0;               // profile whose configuration the settings change
    std::vector<cc_setting> settings;
};
// OFFLINE. When it fails there is no profile.
void create_cc_profile(const controller_device &device, std::uint64_t id, const new_cc_profile &wanted);
void set_cc_profile(const controller_device &device, std::uint64_t id, const std::vector<cc_setting> &settings);

} // namespace mrc::ctl
