// SPDX-License-Identifier: Apache-2.0
// Results of one operation and size: a batch of them back to back, each into memory of its own, is timed; then every
// one is verified, and all ranks meet for the next batch.
#pragma once

#include <cstdint>

#include "tools/mrc-collectives/group.h"
#include "tools/mrc-collectives/operation.h"
#include "tools/mrc-collectives/options.h"

namespace mrc::collectives
{

struct collective_times {
    collective what = collective::all_reduce;
    std::uint64_t bytes = 0;   // of the buffer: what was asked for, or a little more (words_of)
    std::uint32_t results = 0; // that were timed; a batch before them was verified only
    // Time of one result, of the slowest rank, by batch.
    double median_us = 0;
    double least_us = 0;
    double most_us = 0;
    std::uint64_t verified_bytes = 0; // of all ranks
};

// Results of that size that are taken back to back.
[[nodiscard]] std::uint32_t batch_of(std::uint64_t bytes, std::uint32_t results);

// The same call on every rank. Throws std::runtime_error that says where a result of this rank is wrong, and what Gloo
// throws.
[[nodiscard]] collective_times measure(collective what, std::uint64_t bytes, const collectives_options &chosen,
                                       const group &all, buffers &memory);

} // namespace mrc::collectives
