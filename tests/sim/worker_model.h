// SPDX-License-Identifier: Apache-2.0
// How the worker of a real host differs from one that sees every frame at once (worker::round() in
// agent/datapath/worker.cpp): it goes in rounds, reads the ports by turns as fair_receive.h has it and runs its timers
// when timer_gate.h lets it, is slow, and loses its CPU to others. Without a word a host sees and does everything at
// once.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "protocol/random_source.h"
#include "protocol/types.h"

namespace mrc::sim
{

struct worker_model {
    bool in_turns = false;       // a round reads a share of each port's ring, and timers wait for the rest
    std::size_t ring = 0;        // frames that a port's ring holds, more are lost; 0: no limit
    protocol::duration round{0}; // what a round takes, and …
    protocol::duration frame{0}; // … each frame in it
    bool stalls = false;         // others take the CPU (stall_source)
};

// When a worker loses its CPU, and for how long. Measured by a process that did nothing but read the clock for 30 s on
// a 2-core VM (Linux 6.18, 250 Hz) which four others kept busy compiling: 184 gaps of 20 us and more per second, 62 %
// of the time. Half of them are interrupts, the rest the scheduler's slices of 4 ms.
class stall_source
{
public:
    explicit stall_source(std::uint64_t seed) : random_{seed} {}

    [[nodiscard]] protocol::duration next_length();   // of a stall
    [[nodiscard]] protocol::duration next_interval(); // from its end to the next

private:
    protocol::random_source random_;
};

} // namespace mrc::sim
