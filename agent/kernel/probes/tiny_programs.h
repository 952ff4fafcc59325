// SPDX-License-Identifier: Apache-2.0
// XDP programs of a few instructions, for trying out what a host takes.
#pragma once

#include <linux/bpf.h>

#include "kernel/unique_fd.h"

namespace mrc::kernel::probes
{

// Does the same to every packet. `multi_buffer`: as a program that knows packets of several buffers. Empty on failure,
// with errno.
[[nodiscard]] unique_fd load_xdp_action(xdp_action action, bool multi_buffer);
// Redirects every packet to row 0 of the devmap. Empty on failure, with errno.
[[nodiscard]] unique_fd load_xdp_redirect(int devmap_fd);
// Lets every packet pass, at a TC hook. Empty on failure, with errno.
[[nodiscard]] unique_fd load_tc_pass();

} // namespace mrc::kernel::probes
