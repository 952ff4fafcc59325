// SPDX-License-Identifier: Apache-2.0
// The ends of links as a drawing needs them, and what a lab knows of its links besides.
#pragma once

#include <boost/json/array.hpp>

#include "tools/mrc-view/fabric.h"
#include "tools/mrc-view/lab/description.h"

namespace mrc::view
{

// {"name", "kind": "host", "leaf", "spine" or "network", "plane", "index"} of each end of these links; null: a host is
// on all planes, and has no number.
[[nodiscard]] boost::json::array nodes_view(const link_table &links);

// Gives views of links the members "lab": "up", "down" or "carrier-down", and "impairment": words or null.
void add_lab_state(boost::json::array &links, const lab_description &lab);

} // namespace mrc::view
