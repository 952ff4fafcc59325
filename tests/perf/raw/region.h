/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a program's that BPF programs read or write. */
#ifndef MRC_RAW_REGION_H
#define MRC_RAW_REGION_H

#include "maps.h"
#include "note.h"

MRC_ROWS(raw_region, struct raw_region, 1);
MRC_USES(raw_region);

#endif
