// SPDX-License-Identifier: Apache-2.0
// What a local client can do to the daemon. Each attack ends by itself, and ends the program when it sees that the
// daemon did something wrong; that it and the others go on is for hostile.py to see.
#pragma once

#include <chrono>

#include "raw_client.h"

namespace mrc::hostile
{

struct attack_terms {
    targets where;
    std::uint64_t seed = 0;
    std::chrono::milliseconds time{};
};

void send_noise(const attack_terms &terms);         // noise.cpp: packets of any bytes, sizes, versions and descriptors
void never_read(const attack_terms &terms);         // noise.cpp
void rewrite_rings(const attack_terms &terms);      // rings.cpp: all shared pages, while the worker reads them
void post_without_end(const attack_terms &terms);   // rings.cpp: faster than the worker flushes
void steal_wake_ups(const attack_terms &terms);     // rings.cpp
void take_memory_away(const attack_terms &terms);   // memory.cpp
void share_one_file(const attack_terms &terms);     // memory.cpp: many regions in it, as libmrc-heap.so has them
void offer_any_file(const attack_terms &terms);     // memory.cpp
void use_up_descriptors(const attack_terms &terms); // sessions.cpp
void take_everything(const attack_terms &terms);    // sessions.cpp: what one user may have, by many sessions
void leave_lingering(const attack_terms &terms);    // sessions.cpp: descriptors that take minutes to close
void reach_for_neighbours(const attack_terms &terms); // neighbours.cpp: by what it knows of other clients
void storm(const attack_terms &terms);                // neighbours.cpp: with more queue pairs than all others
void die(const attack_terms &terms);                  // sessions.cpp: at every step of set-up, and in traffic

} // namespace mrc::hostile
