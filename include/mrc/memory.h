/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/*
 * Memory that a software endpoint reaches fastest. Any memory can be registered with ibv_reg_mr(); what this gives is
 * shared with the daemon when it is registered, so that each packet costs one copy and no system call. So is a memfd of
 * the program's own (memfd_create(2)), mapped MAP_SHARED and for writing, if it is sealed with F_SEAL_SHRINK and still
 * open when it is registered. An extension of libmrc: the OCP API has nothing like it.
 */
#ifndef MRC_MEMORY_H
#define MRC_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * `bytes` of zeroed memory, aligned to a page. NULL with errno: EINVAL for 0, ENOMEM, EMFILE. It is shared with child
 * processes after fork(), like any MAP_SHARED memory. Registering it allocates all of its pages, for this process; a
 * region may begin at any byte of it.
 */
void *mrc_alloc_shared(size_t bytes);

/*
 * Frees memory of mrc_alloc_shared(); NULL is allowed. -1 with errno EINVAL for any other address. Deregister regions
 * in it before.
 */
int mrc_free_shared(void *memory);

#ifdef __cplusplus
}
#endif

#endif
