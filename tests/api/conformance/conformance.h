/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of mrc.h against two daemons of a lab, as api.md-minded programs see it: success, each documented
 * error, each state, misuse. Compiled as C11 and as C++.
 */
#ifndef MRC_CONFORMANCE_H
#define MRC_CONFORMANCE_H

#include <string.h>

#include "../check.h"
#include "../two_hosts.h"

/* Hosts are opened once; most tests make a pair of endpoints on them. */
extern struct host hosts[2];

struct pair {
    struct endpoint ends[2];
    struct region memory[2];
};

/* Connected, with 1 MiB of memory each. */
struct pair pair_connected(uint32_t depth, int with_channel);
void pair_free(struct pair *pair);
struct region region_with(struct ibv_pd *pd, size_t length, unsigned int access);

/* Whole attribute sets of a transition; sets the mask. */
struct ibv_qp_attr attributes_to(enum ibv_qp_state state, const struct endpoint *peer, int *mask);
int move_to(struct endpoint *end, enum ibv_qp_state state, const struct endpoint *peer);
enum ibv_qp_state state_of(const struct endpoint *end);
/* Until the QP is there, at most 20 s. */
void wait_for_state(const struct endpoint *end, enum ibv_qp_state state);
void reconnect(struct pair *pair);
int post_receive(struct endpoint *end, uint64_t id);
int post_immediate(struct endpoint *end, uint64_t id, const struct pair *pair, uint32_t immediate, unsigned int flags);
/* The next event, of that type and of that QP or CQ; acknowledged. */
void expect_event(const struct host *host, enum ibv_event_type type, const void *element);

/* objects.c */
void tells_versions(void);
void tells_capabilities(void);
void makes_contexts(void);
void makes_channels(void);
void makes_completion_queues(void);
void makes_hints(void);
void makes_queue_pairs(void);
/* states.c */
void walks_the_states(void);
void needs_what_connects(void);
void checks_ranges(void);
void fixes_attributes(void);
void tells_what_is_asked(void);
void tells_attributes(void);
void accepts_what_programs_pass(void);
/* work.c */
void posts_in_states(void);
void refuses_requests(void);
void fills_queues(void);
void leaves_requests_unsignaled(void);
void signals_all(void);
void restricts_operations(void);
/* protection.c */
void refuses_unmapped_memory(void);
void shares_memory_from_anywhere(void);
void shares_a_programs_own_memfd(void);
void protects_local_memory(void);
void protects_remote_memory(void);
void fails_when_memory_goes(void);
void deregisters_under_traffic(void);
void registers_thousands(void);
/* failures.c */
void flushes_both_queues(void);
void needs_receives(void);
void overruns(void);
void drains(void);
/* events.c */
void waits_for_completions(void);
void tells_solicited_only(void);
void destroys_after_acknowledgement(void);
/* threads.c */
void serves_many_threads(void);
/* forks.c */
void guards_forks(void);

#endif
