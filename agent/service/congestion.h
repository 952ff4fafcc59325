// SPDX-License-Identifier: Apache-2.0
// The congestion control that the configuration, or a profile, asks for.
#pragma once

#include <cstdint>
#include <memory>

#include "protocol/congestion/congestion_control.h"
#include "service/config/config.h"
#include "service/control/cc_profile_store.h"

namespace mrc::service
{

// `payload_bytes` of a full packet, `planes` of the fabric: they bound what may be in flight.
[[nodiscard]] std::unique_ptr<protocol::congestion_control>
make_congestion_control(const transport_options &options, std::uint32_t payload_bytes, unsigned planes);

// That of a QP with a profile of its own: it shares its window with nobody. `link` as nscc_link_of.
[[nodiscard]] std::unique_ptr<protocol::congestion_control> make_congestion_control(const control::cc_profile &profile,
                                                                                    protocol::nscc_link link);

} // namespace mrc::service
