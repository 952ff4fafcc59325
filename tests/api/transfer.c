/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between two daemons through the public API, as programs for hardware do it. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "two_hosts.h"

enum { depth = 64, region_bytes = 8 << 20 };

static struct host hosts[2];
static struct endpoint ends[2];
static struct region memory[2];

static void fill(unsigned char *at, size_t length, unsigned int seed)
{
    for (size_t i = 0; i < length; ++i)
        at[i] = (unsigned char)(i * 31 + (i >> 8) + seed);
}

static void expect_success(struct mrc_cq *cq, uint64_t id, enum ibv_wc_opcode opcode)
{
    const struct ibv_wc wc = completion_of(cq);
    if (wc.status != IBV_WC_SUCCESS)
        fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
    REQUIRE(wc.status == IBV_WC_SUCCESS && wc.wr_id == id && wc.opcode == opcode);
}

static void sizes(void)
{
    static const size_t lengths[] = {0, 1, 7, 8, 255, 3072, 3073, 65536, 1 << 20, region_bytes};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); ++i) {
        const size_t length = lengths[i];
        fill(memory[0].bytes, length, (unsigned int)i);
        memset(memory[1].bytes, 0xEE, region_bytes);
        REQUIRE(post_write(&ends[0], i, &memory[0], 0, length, &memory[1], 0, IBV_SEND_SIGNALED) == 0);
        expect_success(ends[0].send_cq, i, IBV_WC_RDMA_WRITE);
        REQUIRE(memcmp(memory[0].bytes, memory[1].bytes, length) == 0);
        REQUIRE(length == region_bytes || memory[1].bytes[length] == 0xEE);
    }
}

static void immediates_with_events(void)
{
    struct ibv_recv_wr receive = {.wr_id = 77};
    struct ibv_recv_wr *bad_receive = NULL;
    struct ibv_sge pieces[3];
    struct ibv_send_wr request;
    struct ibv_send_wr *bad = NULL;
    struct mrc_cq *cq = NULL;
    struct pollfd ready = {.events = POLLIN};
    void *user = NULL;
    struct ibv_wc wc;

    REQUIRE(mrc_req_notify_cq(ends[1].receive_cq, 0) == 0);
    REQUIRE(mrc_post_recv(ends[1].qp, &receive, &bad_receive) == 0);
    fill(memory[0].bytes, 100000, 5);
    memset(memory[1].bytes, 0, 100000);
    for (int i = 0; i < 3; ++i) {
        pieces[i].addr = (uint64_t)(uintptr_t)(memory[0].bytes + i * 20000);
        pieces[i].length = 20000;
        pieces[i].lkey = memory[0].mr->lkey;
    }
    memset(&request, 0, sizeof(request));
    request.wr_id = 9;
    request.sg_list = pieces;
    request.num_sge = 3;
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.send_flags = IBV_SEND_SIGNALED;
    request.imm_data = htonl(0x12345678);
    request.wr.rdma.remote_addr = (uint64_t)(uintptr_t)memory[1].bytes;
    request.wr.rdma.rkey = memory[1].mr->rkey;
    REQUIRE(mrc_post_send(ends[0].qp, &request, &bad) == 0);

    REQUIRE(mrc_get_comp_channel_fd(ends[1].channel, &ready.fd) == 0);
    REQUIRE(poll(&ready, 1, 20000) == 1);
    REQUIRE(mrc_get_cq_event(ends[1].channel, &cq, &user) == 0 && cq == ends[1].receive_cq);
    mrc_ack_cq_events(cq, 1);
    wc = completion_of(ends[1].receive_cq);
    REQUIRE(wc.status == IBV_WC_SUCCESS && wc.wr_id == 77 && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
    REQUIRE(wc.byte_len == 60000 && wc.imm_data == htonl(0x12345678) && (wc.wc_flags & IBV_WC_WITH_IMM) != 0);
    REQUIRE(memcmp(memory[0].bytes, memory[1].bytes, 60000) == 0);
    expect_success(ends[0].send_cq, 9, IBV_WC_RDMA_WRITE);
}

static void inlined(void)
{
    struct region local = memory[0];
    unsigned char word[48];
    fill(word, sizeof(word), 99);
    local.bytes = word; /* not registered at all */
    memset(memory[1].bytes, 0, 64);
    REQUIRE(post_write(&ends[0], 3, &local, 0, sizeof(word), &memory[1], 8, IBV_SEND_SIGNALED | IBV_SEND_INLINE) == 0);
    memset(word, 0, sizeof(word)); /* the bytes are the library's since the post */
    expect_success(ends[0].send_cq, 3, IBV_WC_RDMA_WRITE);
    fill(word, sizeof(word), 99);
    REQUIRE(memcmp(word, memory[1].bytes + 8, sizeof(word)) == 0);
}

/* Slots of unsignalled requests are free when a later completion has been polled; all of the depth is usable. */
static void unsignalled(void)
{
    for (int round = 0; round < 5; ++round) {
        for (unsigned int i = 0; i < depth - 1; ++i)
            REQUIRE(post_write(&ends[0], i, &memory[0], 0, 64, &memory[1], 0, 0) == 0);
        REQUIRE(post_write(&ends[0], 1000, &memory[0], 0, 64, &memory[1], 0, IBV_SEND_SIGNALED) == 0);
        REQUIRE(post_write(&ends[0], 0, &memory[0], 0, 64, &memory[1], 0, 0) == ENOMEM);
        expect_success(ends[0].send_cq, 1000, IBV_WC_RDMA_WRITE);
    }
}

static void protection(void)
{
    struct mrc_async_event event;
    struct ibv_wc wc;
    struct ibv_qp_attr attr;
    struct region beyond = memory[1];

    REQUIRE(post_write(&ends[0], 1, &memory[0], 0, 4096, &beyond, region_bytes - 100, IBV_SEND_SIGNALED) == 0);
    REQUIRE(post_write(&ends[0], 2, &memory[0], 0, 4096, &beyond, 0, 0) == 0);
    wc = completion_of(ends[0].send_cq);
    REQUIRE(wc.status == IBV_WC_REM_ACCESS_ERR && wc.wr_id == 1);
    wc = completion_of(ends[0].send_cq);
    REQUIRE(wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 2);
    REQUIRE(mrc_query_qp(ends[0].qp, &attr, IBV_QP_STATE, NULL, 0, NULL) == 0 && attr.qp_state == IBV_QPS_ERR);
    REQUIRE(mrc_get_async_event(hosts[1].context, &event) == 0);
    REQUIRE(event.event_type == IBV_EVENT_QP_ACCESS_ERR && event.element.qp == ends[1].qp);
    mrc_ack_async_event(&event);
}

/* After RESET both queue pairs work again, and nothing of before is polled. */
static void again(void)
{
    REQUIRE(post_write(&ends[0], 5, &memory[0], 0, 64, &memory[1], 0, IBV_SEND_SIGNALED) ==
            0); /* flushed, not polled */
    for (int i = 0; i < 2; ++i) {
        struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
        REQUIRE(mrc_modify_qp(ends[i].qp, &attr, IBV_QP_STATE, NULL, 0) == 0);
        endpoint_to_init(&ends[i]);
    }
    endpoints_connect(&ends[0], &ends[1]);
    sizes();
}

int main(void)
{
    for (int i = 0; i < 2; ++i) {
        host_open(&hosts[i], i);
        memory[i] = region_new(&hosts[i], region_bytes);
        ends[i] = endpoint_new(&hosts[i], depth, 1);
        endpoint_to_init(&ends[i]);
    }
    endpoints_connect(&ends[0], &ends[1]);
    sizes();
    immediates_with_events();
    inlined();
    unsignalled();
    protection();
    again();
    for (int i = 0; i < 2; ++i) {
        endpoint_free(&ends[i]);
        region_free(&memory[i]);
        host_close(&hosts[i]);
    }
    puts("every message arrived as it was sent");
    return 0;
}
