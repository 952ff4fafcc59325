// SPDX-License-Identifier: Apache-2.0
// The profiles that the configuration brings, by the same rules as those that a controller makes.
#pragma once

#include <expected>

#include "protocol/congestion/nscc.h"
#include "service/config/config.h"
#include "service/control/cc_profile_store.h"
#include "service/control/ev_profile_store.h"
#include "service/control/stored_settings.h"

namespace mrc::service
{

// The fabric as EV profiles see it.
[[nodiscard]] control::fabric_shape shape_of(const daemon_config &config);
// What the constants of NSCC are derived from, for packets of `payload_bytes`.
[[nodiscard]] protocol::nscc_link nscc_link_of(const daemon_config &config, std::uint32_t payload_bytes);
// CC profile 0: what [transport] says.
[[nodiscard]] control::cc_profile built_in_cc_profile(const daemon_config &config, std::uint32_t payload_bytes);

// Makes the profiles, all ONLINE; the error names the option that a store refuses.
[[nodiscard]] std::expected<void, config_error> apply_profiles(const daemon_config &config, std::uint32_t payload_bytes,
                                                               control::ev_profile_store &evs,
                                                               control::cc_profile_store &ccs);

// Would they be accepted?
[[nodiscard]] std::expected<void, config_error> check_profiles(const daemon_config &config);
// Would what a controller had set, beside them?
[[nodiscard]] session::outcome<> check_settings(const daemon_config &config, const control::stored_settings &settings);

} // namespace mrc::service
