// SPDX-License-Identifier: Apache-2.0
// What a scenario's transport_config makes of a queue pair of MRC: its selector and its congestion control.
#pragma once

#include <cstdint>
#include <memory>

#include "protocol/congestion/congestion_control.h"
#include "protocol/paths/path_selector.h"
#include "sim/fabric.h"
#include "sim/transport_config.h"

namespace mrc::sim
{

// Null: MRC's rule, which is the queue pair's own.
[[nodiscard]] std::unique_ptr<protocol::path_selector> make_selector(selector_kind kind, std::uint64_t seed);

// Of a host's window toward another.
[[nodiscard]] std::unique_ptr<protocol::congestion_control>
make_control(const transport_config &transport, const fabric &topology, unsigned host, unsigned peer_host);

} // namespace mrc::sim
