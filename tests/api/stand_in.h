/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libibverbs of ours with one device, "real0", in place of the host's own: every function that libmrc stands in front
 * of writes down that it was called, and by which object. It has the functions and versions of rdma-core's newest
 * release. x86-64 only: one shape of function answers calls of all.
 */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <stdint.h>

#define STAND_IN_ANSWER 0x77

#ifdef __cplusplus
extern "C" {
#endif

/* Name of the last function called, "" for none since this was asked last. */
const char *stand_in_called(void);
/* Its first argument. */
const void *stand_in_object(void);
/* ibv_get_device_list fails with ENOSYS from now on, as on hosts without RDMA; or works again. */
void stand_in_without_kernel(int without);
/* Arrays of ibv_get_device_list that have not been freed. */
int stand_in_lists(void);

#ifdef __cplusplus
}
#endif

#endif
