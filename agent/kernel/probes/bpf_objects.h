// SPDX-License-Identifier: Apache-2.0
// Whether the kernel takes mrc's own BPF maps and programs. The lists come from the compiled objects.
#pragma once

#include <string>
#include <vector>

#include "kernel/probes/attempt.h"

namespace mrc::kernel::probes
{

struct named_attempt {
    std::string name; // "devmap", "array, mmapable"; "host_rx (xdp)"
    attempt result;
};

// Creates one small map of each type, with the flags that mrc uses; maps it into memory where mrc does.
[[nodiscard]] std::vector<named_attempt> try_map_types();
// Loads each program, configured so that the verifier sees all of it.
[[nodiscard]] std::vector<named_attempt> try_programs();
// Loads host_rx as a program that knows packets of several buffers.
[[nodiscard]] attempt try_multi_buffer_program();

} // namespace mrc::kernel::probes
