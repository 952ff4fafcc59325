// SPDX-License-Identifier: Apache-2.0
// Lines in NCCL's log.
#pragma once

#include <string>

#include "nccl_plugin/nccl_net.h"

namespace mrc::nccl_plugin
{

void log_to(log_function function); // null: nowhere
void warn(const std::string &line); // shown at NCCL_DEBUG=WARN
void inform(const std::string &line);

} // namespace mrc::nccl_plugin
