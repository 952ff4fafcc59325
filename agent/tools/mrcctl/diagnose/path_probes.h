// SPDX-License-Identifier: Apache-2.0
// EV probes of every path to peers, by the daemon: out and back by the same path, answered by the peer's host.
#pragma once

#include <string>
#include <vector>

#include "tools/mrcctl/diagnose/round_trips.h"

namespace mrc::ctl::diagnose
{

struct path_probe_results {
    trip_results trips{};
    std::string complaint{}; // why some could not be sent; empty: all were
};

// Throws ctl_error when the daemon does not answer or refuses.
[[nodiscard]] path_probe_results probe_paths(const host_maps &maps, const std::vector<peer_place> &peers);

} // namespace mrc::ctl::diagnose
