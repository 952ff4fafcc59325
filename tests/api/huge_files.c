/* SPDX-License-Identifier: Apache-2.0 */
#include "huge_files.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/memfd.h>

int files_are_huge = 0;

int memfd_create(const char *name, unsigned int flags)
{
    return (int)syscall(SYS_memfd_create, name, files_are_huge ? flags | MFD_HUGETLB | MFD_HUGE_2MB : flags);
}
