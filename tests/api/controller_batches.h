/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of endpoint requests between the daemons of two hosts: part of controller.c. */
#ifndef MRC_TESTS_CONTROLLER_BATCHES_H
#define MRC_TESTS_CONTROLLER_BATCHES_H

#include "two_hosts.h"

/* From the first to the second host. MRC_TEST_SPINE with " down" or " up": the spine behind port 1's first EV. */
void sends_batches(struct host *from, struct host *to);
void batches_need_the_capability(struct host *from);

/* A whole batch that nobody answers, to that GID in hexadecimal; returns when it is over. */
int send_batch_for_ever(const char *gid);

#endif
