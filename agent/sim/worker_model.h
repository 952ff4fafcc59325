// SPDX-License-Identifier: Apache-2.0
// How the worker of a real host differs from one that sees every frame at once (worker::round() in
// agent/datapath/worker.cpp): it goes in rounds, reads the ports by turns as fair_receive.h has it, runs its timers
// when timer_gate.h lets it and sends so much at a time, is slow, and loses its CPU to others.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datapath/timer_gate.h"
#include "protocol/random_source.h"
#include "sim/sim_time.h"

namespace mrc::sim
{

// This share of stalls is no longer.
struct stall_quantile {
    double share = 0;
    picoseconds length = 0;

    friend bool operator==(const stall_quantile &, const stall_quantile &) = default;
};

struct worker_model {
    picoseconds round = 0;              // what a round takes; 0: a host sees and does everything at once
    picoseconds frame = 0;              // … and each frame in it, read or sent
    std::uint64_t batch = 0;            // frames that a round sends; 0: no limit
    std::uint64_t ring = 0;             // frames that a port's rings hold, more that arrive are lost; 0: no limit
    picoseconds stall_every = 0;        // mean time from the end of a stall to the next; 0: nobody takes the CPU
    std::vector<stall_quantile> stalls; // shares from 0 to 1, both in order

    [[nodiscard]] bool in_rounds() const { return round != 0; }
    friend bool operator==(const worker_model &, const worker_model &) = default;
};

// Frames; as many as usual where the model sets no limit.
[[nodiscard]] std::uint64_t ring_size(const worker_model &model);
// Patience for rings of that size.
[[nodiscard]] datapath::timer_gate timer_gate_of(const worker_model &model);

// When a worker loses its CPU, and for how long: between two quantiles every length is as likely.
// Precondition: the model has stalls.
class stall_source
{
public:
    stall_source(const worker_model &model, std::uint64_t seed) : model_{model}, random_{seed} {}

    [[nodiscard]] picoseconds next_length();   // of a stall
    [[nodiscard]] picoseconds next_interval(); // from its end to the next, exponentially distributed

private:
    const worker_model &model_;
    protocol::random_source random_;
};

// What a worker's rounds take of its time. The model has to outlive it.
class worker_time
{
public:
    worker_time(const worker_model &model, std::uint64_t seed);

    // The end of its last round.
    [[nodiscard]] picoseconds busy_until() const { return busy_until_; }
    // The CPU is another's until then. `now` never goes back.
    [[nodiscard]] std::optional<picoseconds> stalled_until(picoseconds now);
    // A round that begins `now` handles so many frames.
    void begin_round(picoseconds now, std::uint64_t frames);

private:
    const worker_model &model_;
    stall_source stalls_;
    picoseconds busy_until_ = 0;
    picoseconds stall_begins_ = 0;
    picoseconds stall_ends_ = 0;
};

} // namespace mrc::sim
