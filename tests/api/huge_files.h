/* SPDX-License-Identifier: Apache-2.0 */
/* Makes mrc_alloc_shared() give huge pages: a memfd_create() of the program's own, found before the C library's. */
#ifndef MRC_TESTS_HUGE_FILES_H
#define MRC_TESTS_HUGE_FILES_H

#ifdef __cplusplus
extern "C" {
#endif

enum { huge_bytes = 2 << 20 };
extern int files_are_huge; /* not 0: those made from now on */

#ifdef __cplusplus
}
#endif

#endif
