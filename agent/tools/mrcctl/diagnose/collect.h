// SPDX-License-Identifier: Apache-2.0
// Watches the maps of a daemon for a while, and sends probes meanwhile.
#pragma once

#include <string>

#include "tools/mrcctl/diagnose/snapshot.h"
#include "tools/mrcctl/maps.h"

namespace mrc::ctl::diagnose
{

struct watch_options {
    std::string peer{}; // an MRC address; empty: those of queue pairs, or where there are none all that the maps have
    double seconds = 1; // to watch for
};

// Throws ctl_error for an address that is no peer's. What could not be probed is said in the snapshot.
[[nodiscard]] snapshot watch(const host_maps &maps, const watch_options &options);

} // namespace mrc::ctl::diagnose
