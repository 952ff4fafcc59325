/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A well-behaved client while others misbehave: verified messages between two daemons, both ways, until its standard
 * input ends. With the argument `anew`, also connects anew from time to time. Prints what it did; ends with status 0
 * only if every byte and every completion was as it must be.
 */
#include <poll.h>
#include <string.h>
#include <time.h>

#include "two_hosts.h"

enum { depth = 16, most_bytes = 256 << 10, messages_per_connection = 64, patience_ms = 20000 };

static struct host hosts[2];
static struct endpoint ends[2];
static struct region memory[2];

static uint64_t now_ns(void)
{
    struct timespec now;
    REQUIRE(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint32_t next_random(void)
{
    static uint64_t state = 88172645463325252U;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static int input_has_ended(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    return poll(&input, 1, 0) == 1;
}

/* Waits without occupying a CPU: there is enough that does. */
static struct ibv_wc wait_for_completion(struct endpoint *end)
{
    struct pollfd ready = {.events = POLLIN};
    struct mrc_cq *cq = NULL;
    void *user = NULL;
    struct ibv_wc wc;
    int got = mrc_poll_cq(end->send_cq, 1, &wc);
    REQUIRE(mrc_get_comp_channel_fd(end->channel, &ready.fd) == 0);
    while (got == 0) {
        REQUIRE(mrc_req_notify_cq(end->send_cq, 0) == 0);
        got = mrc_poll_cq(end->send_cq, 1, &wc);
        if (got != 0)
            break;
        REQUIRE(poll(&ready, 1, patience_ms) == 1);
        REQUIRE(mrc_get_cq_event(end->channel, &cq, &user) == 0 && cq == end->send_cq);
        mrc_ack_cq_events(cq, 1);
        got = mrc_poll_cq(end->send_cq, 1, &wc);
    }
    REQUIRE(got == 1);
    return wc;
}

static void open_ends(void)
{
    for (int i = 0; i < 2; ++i) {
        ends[i] = endpoint_new(&hosts[i], depth, 1);
        endpoint_to_init(&ends[i]);
    }
    endpoints_connect(&ends[0], &ends[1]);
}

static void close_ends(void)
{
    for (int i = 0; i < 2; ++i)
        endpoint_free(&ends[i]);
}

/* Nanoseconds that it took. */
static uint64_t exchange(uint64_t id)
{
    const int from = (int)(id & 1);
    const int to = 1 - from;
    const size_t length = 1 + next_random() % (id % 8 == 0 ? (uint32_t)most_bytes : 4096U);
    const unsigned char seed = (unsigned char)next_random();
    for (size_t i = 0; i < length; ++i)
        memory[from].bytes[i] = (unsigned char)(i * 31 + (i >> 8) + seed);
    memset(memory[to].bytes, 0xEE, length + 1);
    const uint64_t begin = now_ns();
    REQUIRE(post_write(&ends[from], id, &memory[from], 0, length, &memory[to], 0, IBV_SEND_SIGNALED) == 0);
    const struct ibv_wc wc = wait_for_completion(&ends[from]);
    const uint64_t took = now_ns() - begin;
    if (wc.status != IBV_WC_SUCCESS)
        fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
    REQUIRE(wc.status == IBV_WC_SUCCESS && wc.wr_id == id);
    REQUIRE(memcmp(memory[from].bytes, memory[to].bytes, length) == 0 && memory[to].bytes[length] == 0xEE);
    return took;
}

int main(int argc, char **argv)
{
    const int anew = argc > 1 && strcmp(argv[1], "anew") == 0;
    uint64_t messages = 0;
    uint64_t longest_ns = 0;
    uint64_t total_ns = 0;
    for (int i = 0; i < 2; ++i) {
        host_open(&hosts[i], i);
        memory[i] = region_new(&hosts[i], most_bytes + 1);
    }
    open_ends();
    printf("READY\n");
    fflush(stdout);
    while (!input_has_ended()) {
        const uint64_t took = exchange(messages++);
        total_ns += took;
        if (took > longest_ns)
            longest_ns = took;
        if (anew && messages % messages_per_connection == 0) {
            close_ends();
            open_ends();
        }
    }
    close_ends();
    for (int i = 0; i < 2; ++i) {
        region_free(&memory[i]);
        host_close(&hosts[i]);
    }
    REQUIRE(messages > 0);
    printf("{\"messages\": %llu, \"mean_us\": %llu, \"longest_us\": %llu}\n", (unsigned long long)messages,
           (unsigned long long)(total_ns / messages / 1000), (unsigned long long)(longest_ns / 1000));
    return 0;
}
