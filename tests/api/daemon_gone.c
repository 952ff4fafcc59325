/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon of one host is killed under traffic. Its client is notified by every channel it listens to, gets each of
 * its requests back once, can put everything away, and opens anew at the next daemon. daemon_gone.py kills and starts
 * it when this program says so, and answers with a line.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "processes.h"

enum { depth = 64, message_bytes = 8 << 20, wait_ms = 20000 };

static struct host hosts[2];

static void agree(const char *stage)
{
    char line[16];
    printf("%s\n", stage);
    fflush(stdout);
    REQUIRE(fgets(line, sizeof(line), stdin) != NULL);
}

struct link {
    struct endpoint ends[2];
    struct region memory[2];
};

static struct link link_up(int with_channel)
{
    struct link link;
    for (int i = 0; i < 2; ++i) {
        link.ends[i] = endpoint_new(&hosts[i], depth, i == 0 && with_channel);
        link.memory[i] = region_new(&hosts[i], message_bytes);
        endpoint_to_init(&link.ends[i]);
    }
    endpoints_connect(&link.ends[0], &link.ends[1]);
    return link;
}

static void link_free(struct link *link)
{
    for (int i = 0; i < 2; ++i) {
        endpoint_free(&link->ends[i]);
        region_free(&link->memory[i]);
    }
}

static void move_one(struct link *link, unsigned char filling)
{
    memset(link->memory[0].bytes, filling, message_bytes);
    REQUIRE(post_write(&link->ends[0], 7, &link->memory[0], 0, message_bytes, &link->memory[1], 0, IBV_SEND_SIGNALED) ==
            0);
    const struct ibv_wc wc = completion_of(link->ends[0].send_cq);
    REQUIRE(wc.wr_id == 7 && wc.status == IBV_WC_SUCCESS);
    for (size_t i = 0; i < message_bytes; ++i)
        REQUIRE(link->memory[1].bytes[i] == filling);
}

/* Of sends and receives both, in order; the flushed come last, and only they remain. */
static void check_flushed(struct endpoint *end, uint64_t sends, uint64_t receives)
{
    unsigned int flushed = 0;
    struct ibv_wc wc;
    for (uint64_t i = 0; i < sends; ++i) {
        wc = completion_of(end->send_cq);
        REQUIRE(wc.wr_id == i && wc.qp_num == end->qpn);
        REQUIRE(wc.status == IBV_WC_WR_FLUSH_ERR || (wc.status == IBV_WC_SUCCESS && flushed == 0));
        flushed += wc.status == IBV_WC_WR_FLUSH_ERR;
    }
    REQUIRE(flushed != 0); /* it was killed under traffic */
    for (uint64_t i = 0; i < receives; ++i) {
        wc = completion_of(end->receive_cq);
        REQUIRE(wc.wr_id == i && wc.status == IBV_WC_WR_FLUSH_ERR);
    }
    REQUIRE(mrc_poll_cq(end->send_cq, 1, &wc) == 0 && mrc_poll_cq(end->receive_cq, 1, &wc) == 0);
}

static void check_told(struct endpoint *end)
{
    struct pollfd ready = {.fd = end->on->verbs->async_fd, .events = POLLIN, .revents = 0};
    struct ibv_async_event of_verbs;
    struct mrc_async_event event;
    struct mrc_cq *cq = NULL;
    void *user = NULL;
    REQUIRE(mrc_get_async_event(end->on->context, &event) == 0 && event.event_type == IBV_EVENT_DEVICE_FATAL);
    mrc_ack_async_event(&event);
    REQUIRE(poll(&ready, 1, wait_ms) == 1);
    REQUIRE(ibv_get_async_event(end->on->verbs, &of_verbs) == 0 && of_verbs.event_type == IBV_EVENT_DEVICE_FATAL);
    ibv_ack_async_event(&of_verbs);
    REQUIRE(mrc_get_comp_channel_fd(end->channel, &ready.fd) == 0);
    for (int i = 0; i < 2; ++i) { /* both queues: requests came back */
        REQUIRE(poll(&ready, 1, wait_ms) == 1 && mrc_get_cq_event(end->channel, &cq, &user) == 0);
        REQUIRE(cq == end->send_cq || cq == end->receive_cq);
        mrc_ack_cq_events(cq, 1);
    }
}

static void lose_the_daemon(void)
{
    const uint64_t sends = 32;
    const uint64_t receives = 8;
    struct link link = link_up(1);
    struct endpoint *end = &link.ends[0];
    REQUIRE(mrc_req_notify_cq(end->send_cq, 0) == 0 && mrc_req_notify_cq(end->receive_cq, 0) == 0);
    for (uint64_t i = 0; i < receives; ++i) {
        struct ibv_recv_wr request;
        struct ibv_recv_wr *bad = NULL;
        memset(&request, 0, sizeof(request));
        request.wr_id = i;
        REQUIRE(mrc_post_recv(end->qp, &request, &bad) == 0);
    }
    for (uint64_t i = 0; i < sends; ++i)
        REQUIRE(post_write(end, i, &link.memory[0], 0, message_bytes, &link.memory[1], 0,
                           i + 1 == sends ? IBV_SEND_SIGNALED | IBV_SEND_SOLICITED : IBV_SEND_SIGNALED) == 0);
    agree("busy");
    check_told(end);
    check_flushed(end, sends, receives);
    agree("notified");
    REQUIRE(mrc_create_context(end->on->verbs, NULL) == NULL && errno != 0);
    link_free(&link);
    host_close(&hosts[0]); /* as if it were still there */
}

int main(void)
{
    struct link link;
    for (int i = 0; i < 2; ++i)
        host_open(&hosts[i], i);
    lose_the_daemon();
    agree("closed");
    host_open(&hosts[0], 0);
    link = link_up(0);
    move_one(&link, 0xA5);
    link_free(&link);
    for (int i = 0; i < 2; ++i)
        host_close(&hosts[i]);
    printf("anew\n");
    return 0;
}
