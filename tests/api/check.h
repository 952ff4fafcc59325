/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions for test programs in C11 that are C++ as well: a failure is printed, and the program goes on. */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <stdio.h>

extern int check_failures; /* in the program */

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s is false (errno %d)\n", __FILE__, __LINE__, #condition, errno);                 \
            ++check_failures;                                                                                          \
        }                                                                                                              \
    } while (0)

#define CHECK_IS(found, wanted)                                                                                        \
    do {                                                                                                               \
        const long long check_found = (long long)(found);                                                              \
        const long long check_wanted = (long long)(wanted);                                                            \
        if (check_found != check_wanted) {                                                                             \
            fprintf(stderr, "%s:%d: %s is %lld, not %s = %lld\n", __FILE__, __LINE__, #found, check_found, #wanted,    \
                    check_wanted);                                                                                     \
            ++check_failures;                                                                                          \
        }                                                                                                              \
    } while (0)

/* The call, evaluated with errno cleared, has this result and this errno. */
#define CHECK_FAILS(call, wanted, code)                                                                                \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        CHECK((call) == (wanted));                                                                                     \
        CHECK_IS(errno, code);                                                                                         \
    } while (0)

#endif
