// SPDX-License-Identifier: Apache-2.0
// Whether the overlay for ordinary sockets can be made: a TAP device with a program on its egress.
#pragma once

#include "datapath/probes/attempt.h"

namespace mrc::datapath::probes
{

struct overlay_support {
    attempt tap;
    attempt egress_program; // clsact and cls_bpf
};
// In the network namespace of the caller; the device goes again.
[[nodiscard]] overlay_support try_overlay();

} // namespace mrc::datapath::probes
