// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mrc::kernel
{

// The kernel takes memory for the calling thread, and for those that it starts, from this NUMA node while that has any
// (set_mempolicy(2), MPOL_PREFERRED). False: whoever started the process has chosen otherwise (numactl(8), NUMAPolicy=
// of systemd), or the kernel refuses; then nothing has changed.
[[nodiscard]] bool prefer_memory_of(int node);

} // namespace mrc::kernel
