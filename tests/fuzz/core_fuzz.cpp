// SPDX-License-Identifier: Apache-2.0
// Any sequence of events at a live QP pair. The input's first bytes choose the configuration, each further byte is a
// command with its operands: post, transmit, deliver (any packet on the wire, whole, marked, trimmed, twice), drop,
// corrupt a field, forge a packet of any kind, let time pass, run timers, change ports, paths, memory and QP states.
// What must hold: live_pair.h.
#include <cstdint>

#include "fuzz_input.h"
#include "live_pair.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    mrc::fuzz::fuzz_input input{{data, size}};
    mrc::fuzz::live_pair pair{input};
    while (!input.empty())
        pair.step(input);
    pair.finish();
    return 0;
}
