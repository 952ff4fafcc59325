// SPDX-License-Identifier: Apache-2.0
// How many rows the maps of peers and paths get: as many as the fabric can ever fill, within [tables].
#pragma once

#include "kernel/host_programs.h"
#include "service/fabric_rules.h"

namespace mrc::service
{

[[nodiscard]] kernel::table_sizes table_sizes_of(const daemon_config &config, const fabric_rules &rules);

} // namespace mrc::service
