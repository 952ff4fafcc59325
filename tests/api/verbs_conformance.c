/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs calls of an ordinary program on a virtual device: linked with libmrc (of fake daemons) before libibverbs, like
 * any user of the API. Compiled as C11, and as C++ by verbs_conformance_cpp.cpp.
 */
#include "verbs_conformance.h"

#include <stddef.h>
#include <stdio.h>

#include "check.h"
#include "fake_daemon.h"

int check_failures = 0;

struct ibv_context *open_first(void)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    struct ibv_context *context = NULL;

    CHECK(list != NULL);
    if (list != NULL && count > 0)
        context = ibv_open_device(list[0]);
    if (list != NULL)
        ibv_free_device_list(list);
    CHECK(context != NULL);
    return context;
}

int main(void)
{
    static void (*const tests[])(void) = {lists_one_device_per_daemon,
                                          lists_nothing_without_daemon,
                                          tells_users_who_are_denied,
                                          opens_and_closes,
                                          queries_device,
                                          queries_ports,
                                          fills_port_attributes_of_any_length,
                                          has_gids_where_programs_look,
                                          has_the_default_pkey,
                                          registers_memory,
                                          refuses_bad_regions,
                                          refuses_what_it_has_not,
                                          tells_events,
                                          cleans_up_without_daemon,
                                          guards_against_forks,
                                          tells_capabilities_and_versions};
    const size_t count = sizeof(tests) / sizeof(tests[0]);

    for (size_t i = 0; i < count; ++i) {
        fake_reset();
        tests[i]();
        CHECK_IS(fake_sessions(), 0);
    }
    printf("%zu tests, %d failures\n", count, check_failures);
    return check_failures == 0 ? 0 : 1;
}
