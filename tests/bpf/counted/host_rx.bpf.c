// SPDX-License-Identifier: Apache-2.0
/* bpf/host_rx.bpf.c, counted. */
#include "count.h"

#include "../../../bpf/host_rx.bpf.c"
