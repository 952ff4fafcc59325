// SPDX-License-Identifier: Apache-2.0
// Whether the overlay for ordinary sockets can be made: a TAP device with a program on its egress.
#pragma once

#include "kernel/probes/attempt.h"

namespace mrc::kernel::probes
{

struct overlay_support {
    attempt tap;
    attempt egress_program; // clsact and cls_bpf
};
// In the network namespace of the caller; the device goes again.
[[nodiscard]] overlay_support try_overlay();

} // namespace mrc::kernel::probes
