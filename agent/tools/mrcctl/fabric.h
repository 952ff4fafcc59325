// SPDX-License-Identifier: Apache-2.0
// `mrcctl fabric map`: what mrcd knows of the links around this host. In an SRv6 fabric by its loops, of the map
// `loops`, and by what it and other hosts find together, of `fabric_faults`; in direct mode by what the paths of each
// plane toward each peer say, and what mrcd finds of them (service/fabric_map/direct_judge.h).
#pragma once

#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

// Links and switches that are at fault, of the whole fabric.
[[nodiscard]] std::vector<mrc_fault_row> named_faults_of(const host_maps &maps);
[[nodiscard]] boost::json::array fabric_faults_of(const host_maps &maps);
// Of a host without a fabric map, "links" is empty and "is_on" false.
[[nodiscard]] boost::json::object fabric_map_of(const host_maps &maps);
[[nodiscard]] std::string fabric_map_text(const boost::json::object &map);

} // namespace mrc::ctl
