// SPDX-License-Identifier: Apache-2.0
// What the worker is told of the configuration.
#pragma once

#include <cstddef>

#include "datapath/worker.h"
#include "protocol/request_ids.h"
#include "service/config/config.h"
#include "service/fabric_rules.h"
#include "service/worker_place.h"

namespace mrc::service
{

// [worker] workers; "auto" is one for each eight of the CPUs that this process may use.
[[nodiscard]] unsigned workers_of(const daemon_config &config);
// The same where it may use so many.
[[nodiscard]] unsigned workers_of(const daemon_config &config, std::size_t cpus);

// Of one of them. Without `transmit.spin_us` it spins 20 us before it sleeps.
[[nodiscard]] datapath::worker_options worker_options_for(const daemon_config &config, const fabric_rules &rules,
                                                          const worker_place &place, protocol::asker which = {});

} // namespace mrc::service
