// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "service/config/config.h"

namespace mrc::service
{

// Least severe messages that the daemon logs from now on.
void set_log_level(log_level level);

} // namespace mrc::service
