/* SPDX-License-Identifier: Apache-2.0 */
/* The tests of verbs_conformance.c, and what they share. */
#ifndef VERBS_CONFORMANCE_H
#define VERBS_CONFORMANCE_H

#include <infiniband/verbs.h>

/* The first device, opened as programs do. */
struct ibv_context *open_first(void);

void lists_one_device_per_daemon(void);
void lists_nothing_without_daemon(void);
void tells_users_who_are_denied(void);
void opens_and_closes(void);
void queries_device(void);
void tells_capabilities_and_versions(void);
void queries_ports(void);
void fills_port_attributes_of_any_length(void);
void has_gids_where_programs_look(void);
void has_the_default_pkey(void);
void registers_memory(void);
void refuses_bad_regions(void);
void refuses_what_it_has_not(void);
void tells_events(void);
void cleans_up_without_daemon(void);
void guards_against_forks(void);

#endif
