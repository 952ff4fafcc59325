// SPDX-License-Identifier: Apache-2.0
// A fault that is named, or taken back, as transition_log takes it, and as `fabric_faults` has it.
#pragma once

#include "mrc/abi/maps.h"
#include "service/config/config.h"
#include "service/fabric_map/fault_board.h"
#include "service/fabric_rules.h"

namespace mrc::service
{

[[nodiscard]] mrc_event_row event_of(const fault_change &change, const daemon_config &config,
                                     const fabric_rules &rules);
[[nodiscard]] mrc_fault_row row_of(const fabric_fault &fault, protocol::instant since, const fabric_rules &rules);

} // namespace mrc::service
