/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads, each with many queue pairs. */
#include "conformance.h"

#include <pthread.h>

enum { threads = 8, pairs_each = 16, messages = 20, slot_bytes = 8192 };

struct job {
    struct pair pairs[pairs_each];
    struct region memory[2];
    int number;
    int failures;
};

static void *transfer(void *argument)
{
    struct job *job = (struct job *)argument;
    for (int round = 0; round < messages; ++round) {
        for (int i = 0; i < pairs_each; ++i) {
            unsigned char *from = job->memory[0].bytes + i * slot_bytes;
            memset(from, job->number * 31 + round * 7 + i, slot_bytes);
            job->failures +=
                post_write(&job->pairs[i].ends[0], (uint64_t)round, &job->memory[0], (size_t)i * slot_bytes, slot_bytes,
                           &job->memory[1], (size_t)i * slot_bytes, IBV_SEND_SIGNALED) != 0;
        }
        for (int i = 0; i < pairs_each; ++i) {
            const struct ibv_wc wc = completion_of(job->pairs[i].ends[0].send_cq);
            job->failures +=
                wc.status != IBV_WC_SUCCESS || wc.wr_id != (uint64_t)round || wc.qp_num != job->pairs[i].ends[0].qpn;
        }
        job->failures += memcmp(job->memory[0].bytes, job->memory[1].bytes, (size_t)pairs_each * slot_bytes) != 0;
    }
    return NULL;
}

static void *set_up_and_transfer(void *argument)
{
    struct job *job = (struct job *)argument;
    for (int h = 0; h < 2; ++h)
        job->memory[h] = region_new(&hosts[h], (size_t)pairs_each * slot_bytes);
    for (int i = 0; i < pairs_each; ++i) {
        for (int h = 0; h < 2; ++h) {
            job->pairs[i].ends[h] = endpoint_new(&hosts[h], 16, 0);
            endpoint_to_init(&job->pairs[i].ends[h]);
        }
        endpoints_connect(&job->pairs[i].ends[0], &job->pairs[i].ends[1]);
    }
    (void)transfer(job);
    for (int i = 0; i < pairs_each; ++i)
        for (int h = 0; h < 2; ++h)
            endpoint_free(&job->pairs[i].ends[h]);
    for (int h = 0; h < 2; ++h)
        region_free(&job->memory[h]);
    return NULL;
}

void serves_many_threads(void)
{
    struct job *jobs = (struct job *)calloc(threads, sizeof(*jobs));
    pthread_t running[threads];
    for (int i = 0; i < threads; ++i) {
        jobs[i].number = i;
        REQUIRE(pthread_create(&running[i], NULL, set_up_and_transfer, &jobs[i]) == 0);
    }
    for (int i = 0; i < threads; ++i) {
        REQUIRE(pthread_join(running[i], NULL) == 0);
        CHECK_IS(jobs[i].failures, 0);
    }
    free(jobs);
}
