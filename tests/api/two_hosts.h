/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of a connection in one process: the devices of two daemons (MRC_INSTANCE names them), for tests on a lab.
 */
#ifndef MRC_TESTS_TWO_HOSTS_H
#define MRC_TESTS_TWO_HOSTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

#include <mrc.h>

/* Ends the program when the condition does not hold. */
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s (errno %m)\n", __FILE__, __LINE__, #condition);                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { first_psn = 0xFFFFF0 }; /* of connections: they wrap soon */

struct host {
    struct ibv_context *verbs;
    struct ibv_pd *pd;
    struct mrc_context *context;
};

struct endpoint {
    struct host *on;
    struct mrc_comp_channel *channel; /* NULL: none */
    struct mrc_cq *send_cq;
    struct mrc_cq *receive_cq;
    struct mrc_qp *qp;
    uint32_t qpn;
};

struct region {
    struct ibv_mr *mr;
    unsigned char *bytes;
    size_t length;
};

/* What a peer must know of an end to connect to it. */
struct address {
    union ibv_gid gid;
    uint32_t qpn;
};

/* The n-th device of the list. */
void host_open(struct host *host, int index);
void host_close(struct host *host);

struct region region_new(const struct host *host, size_t length);
/* Registers memory of the caller's. */
struct region region_at(const struct host *host, void *bytes, size_t length);
void region_free(struct region *region);

/* A queue pair in RESET with CQs of its own, whose context is `host`; `with_channel`: events of both. */
struct endpoint endpoint_new(struct host *host, uint32_t depth, int with_channel);
/* With queues that outlive it: endpoint_free() is not for these, mrc_destroy_qp() is. */
struct endpoint endpoint_on(struct host *host, uint32_t depth, struct mrc_cq *send_cq, struct mrc_cq *receive_cq);
void endpoint_to_init(struct endpoint *end);
struct address address_of(const struct endpoint *end);
/* INIT to RTR, RTR to RTS. A peer's packets may come from its RTS on. */
void endpoint_to_rtr(struct endpoint *end, const struct address *peer);
int endpoint_try_rtr(struct endpoint *end, const struct address *peer); /* mrc_modify_qp's result */
void endpoint_to_rts(struct endpoint *end);
/* INIT to RTS toward each other. */
void endpoints_connect(struct endpoint *a, struct endpoint *b);
void endpoint_free(struct endpoint *end);

/* Spins until a completion comes, at most 20 s. */
struct ibv_wc completion_of(struct mrc_cq *cq);
/* Posts one request of one piece; returns mrc_post_send's result. */
int post_write(struct endpoint *from, uint64_t id, const struct region *source, size_t offset, size_t length,
               const struct region *target, size_t target_offset, unsigned int flags);

#endif
