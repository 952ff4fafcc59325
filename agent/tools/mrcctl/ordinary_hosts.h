// SPDX-License-Identifier: Apache-2.0
// The pinned map `ordinary`: which addresses adopted sockets exchange for MRC addresses.
#pragma once

#include <boost/json/array.hpp>

#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

// Sorted by address: address, mrc_address, state (own, reachable, silent). None where the configuration has no
// [[sockets]]. Throws ctl_error, also when the daemon is dead: what it knew of its hosts is no longer so.
[[nodiscard]] boost::json::array ordinary_hosts_of(const host_maps &maps);

} // namespace mrc::ctl
