/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The verdict counters: every program ends in one place that counts why.
 *
 * The kernel accepts only an integer as the BTF key of an array (an enum makes libbpf drop the map's BTF), so the row
 * number is a plain __u32 with the values of enum mrc_verdict; `mrcctl counters` prints the names.
 */
#ifndef MRC_BPF_VERDICT_H
#define MRC_BPF_VERDICT_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "mrc/abi/maps.h"

/* A step that has nothing to refuse returns this instead of a verdict. */
#define MRC_GO_ON MRC_VERDICT_COUNT

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, MRC_VERDICT_COUNT);
    __type(key, __u32);
    __type(value, __u64);
} verdicts SEC(".maps");

/* Per CPU, so a plain increment is enough: XDP and TC programs run with softirqs off and are not re-entered. */
static __always_inline void count_verdict(enum mrc_verdict verdict)
{
    const __u32 row = verdict;
    __u64 *count = bpf_map_lookup_elem(&verdicts, &row);

    if (count)
        (*count)++;
}

#endif
