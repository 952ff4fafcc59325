// SPDX-License-Identifier: Apache-2.0
//
// What one packet costs a counted program, to compare and to print.
#ifndef MRC_TESTS_BPF_COUNTED_H
#define MRC_TESTS_BPF_COUNTED_H

#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>

#include "../prog_run.h"
#include "counts.h"

namespace mrc::test
{

struct packet_costs {
    std::uint64_t array_look_ups = 0;
    std::uint64_t per_cpu_look_ups = 0;
    std::uint64_t hash_look_ups = 0;
    std::uint64_t locked_adds = 0;
    std::uint64_t random_numbers = 0;
    std::uint64_t clock_reads = 0;
    std::uint64_t other_calls = 0;

    bool operator==(const packet_costs &) const = default;
};

inline std::ostream &operator<<(std::ostream &out, const packet_costs &costs)
{
    return out << "look-ups: " << costs.array_look_ups << " array, " << costs.per_cpu_look_ups << " per CPU, "
               << costs.hash_look_ups << " hash; locked adds: " << costs.locked_adds
               << "; random numbers: " << costs.random_numbers << "; clock: " << costs.clock_reads
               << "; other calls: " << costs.other_calls;
}

inline mrc_counts counted_so_far(const bpf_map *bss)
{
    const std::uint32_t only = 0;
    mrc_counts counts{};

    EXPECT_EQ(bpf_map__value_size(bss), sizeof(counts));
    EXPECT_EQ(bpf_map_lookup_elem(bpf_map__fd(bss), &only, &counts), 0);
    return counts;
}

// Of one run, which has to end with this action.
inline packet_costs costs_of(const bpf_program *program, const bpf_map *bss, std::span<const std::uint8_t> packet,
                             std::uint32_t action)
{
    const mrc_counts before = counted_so_far(bss);
    const prog_run_result result = run_prog(bpf_program__fd(program), packet);
    const mrc_counts after = counted_so_far(bss);

    EXPECT_EQ(result.error, 0);
    EXPECT_EQ(result.verdict, action);
    return {.array_look_ups = after.array_look_ups - before.array_look_ups,
            .per_cpu_look_ups = after.per_cpu_look_ups - before.per_cpu_look_ups,
            .hash_look_ups = after.hash_look_ups - before.hash_look_ups,
            .locked_adds = after.locked_adds - before.locked_adds,
            .random_numbers = after.random_numbers - before.random_numbers,
            .clock_reads = after.clock_reads - before.clock_reads,
            .other_calls = after.other_calls - before.other_calls};
}

} // namespace mrc::test

#endif
