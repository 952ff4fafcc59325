// SPDX-License-Identifier: Apache-2.0
// Profiles that queue pairs use cannot go OFFLINE: each queue pair holds those of its attributes. Nobody counts the
// users of the built-in profiles.
#pragma once

#include <cstdint>

#include "service/control/control_service.h"
#include "session/session_protocol.h"
#include "session/values.h"

namespace mrc::service
{

inline constexpr std::uint32_t both_profiles = session::qp_sets_ev_profile | session::qp_sets_cc_profile;

// Those that `wanted` sets; EINVAL unless they are ONLINE.
session::outcome<> hold_profiles(control_service &control, const session::qp_attributes &wanted);
void release_profiles(control_service &control, const session::qp_attributes &of, std::uint32_t mask = both_profiles);

} // namespace mrc::service
