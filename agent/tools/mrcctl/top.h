// SPDX-License-Identifier: Apache-2.0
// `mrcctl top`: planes, the worst paths, and queue pairs with their rates, again and again.
#pragma once

#include <cstdint>

#include "tools/mrcctl/maps.h"
#include "tools/mrcctl/rates.h"

namespace mrc::ctl
{

struct top_options {
    double interval_s = 1;
    std::uint32_t iterations = 0; // tables to show; 0: until q or a signal
    bool json = false;            // one object per line
    qp_order order = qp_order::rate;
};

void run_top(const host_maps &maps, const top_options &options);

} // namespace mrc::ctl
