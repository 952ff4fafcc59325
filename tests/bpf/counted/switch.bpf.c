// SPDX-License-Identifier: Apache-2.0
/* bpf/switch.bpf.c, counted. */
#include "count.h"

#include "../../../bpf/switch.bpf.c"
