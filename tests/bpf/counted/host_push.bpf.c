// SPDX-License-Identifier: Apache-2.0
/* bpf/host_push.bpf.c, counted. */
#include "count.h"

#include "../../../bpf/host_push.bpf.c"
