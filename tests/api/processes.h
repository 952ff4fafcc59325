/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of connections in processes of their own, which send each other what verbs programs exchange over TCP. */
#ifndef MRC_TESTS_PROCESSES_H
#define MRC_TESTS_PROCESSES_H

#include <sys/types.h>

#include "two_hosts.h"

struct process {
    pid_t id;
    int socket; /* to it */
};

/* Forks; the child runs `body` with its end of the socket and exits with 0 after it. No device may be open yet. */
struct process process_start(void (*body)(int socket));
/* Waits for it; it must have succeeded. */
void process_end(struct process *process);

/* All of it; the program ends when the other side has gone. */
void send_all(int socket, const void *what, size_t length);
void receive_all(int socket, void *what, size_t length);
/* Something is there to receive. */
int is_said(int socket);

/* One byte each way: both processes have come so far. */
void meet(int socket);

/* Where a peer may write. */
struct offer {
    struct address end;
    uint64_t at;
    uint32_t rkey;
    uint32_t lkey; /* never sent to a peer */
};

struct offer offer_of(const struct endpoint *end, const struct region *region);
/* As the target of post_write(); `room` is its mr. */
struct region offered(const struct offer *offer, struct ibv_mr *room);
/* Exchanges offers over the socket and brings the end to RTS; both sides do it. */
struct offer connect_over(int socket, struct endpoint *end, const struct region *region);

/* Sleeps until a completion of a CQ with a channel comes. */
struct ibv_wc awaited(struct mrc_cq *cq, struct mrc_comp_channel *channel);

double seconds_now(void);

#endif
