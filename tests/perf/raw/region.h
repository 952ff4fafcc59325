/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a program's that BPF programs read or write. */
#ifndef MRC_RAW_REGION_H
#define MRC_RAW_REGION_H

#include "maps.h"
#include "note.h"

MRC_ROWS(raw_region, struct raw_region, 1);
MRC_USES(raw_region);

/*
 * Of 1 to RAW_LONGEST_PAYLOAD it changes nothing, but tells the verifier so: that of 6.1 learns nothing from
 * comparisons with 0. The compiler must not know.
 */
static __always_inline __u32 bounded_length(__u32 length)
{
    asm volatile("" : "+r"(length));
    return ((length - 1) & (RAW_LONGEST_PAYLOAD - 1)) + 1;
}

#endif
