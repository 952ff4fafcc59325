// SPDX-License-Identifier: Apache-2.0
// `mrcctl peer`: other hosts that paths lead to, as JSON and as tables.
#pragma once

#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

// Each host once: its name, planes, paths and queue pairs, how it is known, and what last happened to it.
[[nodiscard]] boost::json::array peers_of(const host_maps &maps);
// One of them, by an address or its name, with all of its addresses, its planes and its queue pairs. Throws ctl_error.
[[nodiscard]] boost::json::object peer_of(const host_maps &maps, const std::string &named);

[[nodiscard]] std::string peers_text(const boost::json::array &peers);
[[nodiscard]] std::string peer_text(const boost::json::object &peer);

} // namespace mrc::ctl
