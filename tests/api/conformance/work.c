/* SPDX-License-Identifier: Apache-2.0 */
/* Posting work: in which states, which requests, how many. */
#include "conformance.h"

static struct ibv_send_wr write_of(const struct pair *pair, struct ibv_sge *piece, uint32_t length)
{
    struct ibv_send_wr request;
    memset(&request, 0, sizeof(request));
    piece->addr = (uint64_t)(uintptr_t)pair->memory[0].bytes;
    piece->length = length;
    piece->lkey = pair->memory[0].mr->lkey;
    request.sg_list = piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = (uint64_t)(uintptr_t)pair->memory[1].bytes;
    request.wr.rdma.rkey = pair->memory[1].mr->rkey;
    return request;
}

static int write_some(struct pair *pair, uint64_t id, unsigned int flags)
{
    return post_write(&pair->ends[0], id, &pair->memory[0], 0, 64, &pair->memory[1], 0, flags);
}

static void expect_completion(struct mrc_cq *cq, uint64_t id, enum ibv_wc_status status)
{
    const struct ibv_wc wc = completion_of(cq);
    CHECK_IS(wc.wr_id, id);
    CHECK_IS(wc.status, status);
}

void posts_in_states(void)
{
    struct pair pair = pair_connected(16, 0);
    struct endpoint end = endpoint_new(&hosts[0], 16, 0);
    struct endpoint *other = &pair.ends[0];
    const struct endpoint kept = *other;

    pair.ends[0] = end; /* posts from it, in RESET */
    CHECK_FAILS(write_some(&pair, 1, 0), EINVAL, EINVAL);
    CHECK_FAILS(post_receive(&end, 1), -1, EINVAL);
    CHECK_IS(move_to(&end, IBV_QPS_INIT, NULL), 0);
    CHECK_FAILS(write_some(&pair, 1, 0), EINVAL, EINVAL);
    CHECK_IS(post_receive(&end, 1), 0);
    CHECK_IS(move_to(&end, IBV_QPS_RTR, &pair.ends[1]), 0);
    CHECK_FAILS(write_some(&pair, 1, 0), EINVAL, EINVAL);
    CHECK_IS(post_receive(&end, 2), 0);
    CHECK_IS(move_to(&end, IBV_QPS_ERR, NULL), 0);
    expect_completion(end.receive_cq, 1, IBV_WC_WR_FLUSH_ERR); /* posted before it could receive, too */
    expect_completion(end.receive_cq, 2, IBV_WC_WR_FLUSH_ERR);
    CHECK_IS(write_some(&pair, 3, 0), 0); /* flushed although unsignaled */
    expect_completion(end.send_cq, 3, IBV_WC_WR_FLUSH_ERR);
    CHECK_IS(post_receive(&end, 4), 0);
    expect_completion(end.receive_cq, 4, IBV_WC_WR_FLUSH_ERR);
    endpoint_free(&end);

    end = endpoint_new(&hosts[0], 16, 0);
    pair.ends[0] = end;
    CHECK_IS(move_to(&end, IBV_QPS_INIT, NULL), 0);
    CHECK_IS(post_receive(&end, 5), 0);
    CHECK_IS(move_to(&end, IBV_QPS_ERR, NULL), 0);
    expect_completion(end.receive_cq, 5, IBV_WC_WR_FLUSH_ERR);
    CHECK_IS(post_receive(&end, 6), 0); /* it has never been connected */
    expect_completion(end.receive_cq, 6, IBV_WC_WR_FLUSH_ERR);
    CHECK_IS(write_some(&pair, 7, 0), 0);
    expect_completion(end.send_cq, 7, IBV_WC_WR_FLUSH_ERR);
    endpoint_free(&end);
    pair.ends[0] = kept;
    pair_free(&pair);
}

static void refuse(struct pair *pair, struct ibv_send_wr *request)
{
    struct ibv_send_wr *bad = NULL;
    CHECK_FAILS(mrc_post_send(pair->ends[0].qp, request, &bad), EINVAL, EINVAL);
    CHECK(bad == request);
}

void refuses_requests(void)
{
    static const enum ibv_wr_opcode others[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ,
                                                IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_LOCAL_INV};
    struct pair pair = pair_connected(16, 0);
    struct ibv_sge pieces[5];
    struct ibv_send_wr request = write_of(&pair, pieces, 64);
    struct ibv_send_wr chain[3];
    struct ibv_send_wr *bad = NULL;
    struct ibv_recv_wr receives[2];
    struct ibv_recv_wr *bad_receive = NULL;

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        request.opcode = others[i];
        refuse(&pair, &request);
    }
    request = write_of(&pair, pieces, 64);
    request.num_sge = 5;
    refuse(&pair, &request);
    request.num_sge = -1;
    refuse(&pair, &request);
    request.num_sge = 1;
    request.sg_list = NULL;
    refuse(&pair, &request);
    request = write_of(&pair, pieces, 1 << 20);
    request.send_flags |= IBV_SEND_INLINE;
    refuse(&pair, &request);
    request = write_of(&pair, pieces, 0x80000000U);
    pieces[1] = pieces[0];
    pieces[1].length = 1;
    request.num_sge = 2; /* one byte more than 2^31 */
    refuse(&pair, &request);
    CHECK_FAILS(mrc_post_send(NULL, &request, &bad), EINVAL, EINVAL);
    CHECK_FAILS(mrc_post_recv(NULL, receives, &bad_receive), -1, EINVAL);
    CHECK_IS(mrc_post_send(pair.ends[0].qp, NULL, &bad), 0);

    for (int i = 0; i < 3; ++i) {
        chain[i] = write_of(&pair, pieces, 64);
        chain[i].wr_id = (uint64_t)i;
        chain[i].next = i < 2 ? &chain[i + 1] : NULL;
    }
    chain[1].opcode = IBV_WR_SEND;
    CHECK_IS(mrc_post_send(pair.ends[0].qp, chain, &bad), EINVAL);
    CHECK(bad == &chain[1]);
    expect_completion(pair.ends[0].send_cq, 0, IBV_WC_SUCCESS); /* what came before it was posted */
    memset(receives, 0, sizeof(receives));
    receives[0].num_sge = -1;
    CHECK_FAILS(mrc_post_recv(pair.ends[0].qp, receives, &bad_receive), -1, EINVAL);
    CHECK(bad_receive == &receives[0]);
    request = write_of(&pair, pieces, 64);
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags |= IBV_SEND_FENCE | IBV_SEND_SOLICITED;
    CHECK_IS(mrc_post_send(pair.ends[0].qp, &request, &bad), 0); /* fences have no effect */
    expect_completion(pair.ends[0].send_cq, 0, IBV_WC_SUCCESS);
    pair_free(&pair);
}

void fills_queues(void)
{
    struct pair pair = pair_connected(128, 0);
    struct endpoint small = endpoint_new(&hosts[0], 1, 0);
    struct ibv_recv_wr receives[3];
    struct ibv_recv_wr *bad = NULL;

    for (int round = 0; round < 3; ++round) {
        for (uint64_t i = 0; i < 128; ++i)
            CHECK_IS(write_some(&pair, i, IBV_SEND_SIGNALED), 0);
        CHECK_FAILS(write_some(&pair, 999, IBV_SEND_SIGNALED), ENOMEM, ENOMEM);
        for (uint64_t i = 0; i < 128; ++i)
            expect_completion(pair.ends[0].send_cq, i, IBV_WC_SUCCESS);
    }
    /* A receive queue of one: each completion that was polled frees it. */
    endpoint_free(&small);
    memset(receives, 0, sizeof(receives));
    for (int i = 0; i < 3; ++i)
        receives[i].next = i < 2 ? &receives[i + 1] : NULL;
    for (int i = 0; i < 127; ++i)
        CHECK_IS(post_receive(&pair.ends[1], (uint64_t)i), 0);
    CHECK_FAILS(mrc_post_recv(pair.ends[1].qp, receives, &bad), -1, ENOMEM);
    CHECK(bad == &receives[1]); /* one of the three found room */
    for (int i = 0; i < 5; ++i) {
        CHECK_IS(post_immediate(&pair.ends[0], 7, &pair, 1, IBV_SEND_SIGNALED), 0);
        expect_completion(pair.ends[0].send_cq, 7, IBV_WC_SUCCESS);
        expect_completion(pair.ends[1].receive_cq, (uint64_t)i, IBV_WC_SUCCESS);
        CHECK_IS(post_receive(&pair.ends[1], 0), 0);
        CHECK_FAILS(post_receive(&pair.ends[1], 0), -1, ENOMEM);
    }
    pair_free(&pair);
}

/* 27 requests that never have a completion, as the OCP benchmark's server posts them; the other slots stay usable. */
void leaves_requests_unsignaled(void)
{
    struct pair pair = pair_connected(128, 0);
    struct ibv_wc wc;
    for (uint64_t i = 0; i < 27; ++i)
        CHECK_IS(write_some(&pair, i, 0), 0);
    for (uint64_t i = 0; i < 101; ++i)
        CHECK_IS(write_some(&pair, 100 + i, IBV_SEND_SIGNALED), 0);
    CHECK_FAILS(write_some(&pair, 0, 0), ENOMEM, ENOMEM);
    for (uint64_t i = 0; i < 101; ++i)
        expect_completion(pair.ends[0].send_cq, 100 + i, IBV_WC_SUCCESS);
    CHECK_IS(mrc_poll_cq(pair.ends[0].send_cq, 1, &wc), 0);
    pair_free(&pair);
}

static struct mrc_qp *special(struct endpoint *end, int signal_all, uint64_t operations)
{
    struct mrc_qp_init_attr attr;
    REQUIRE(mrc_destroy_qp(end->qp) == 0);
    memset(&attr, 0, sizeof(attr));
    attr.send_cq = end->send_cq;
    attr.recv_cq = end->receive_cq;
    attr.pd = end->on->pd;
    attr.cap.max_send_wr = 16;
    attr.cap.max_send_sge = 1;
    attr.sq_sig_all = signal_all;
    attr.send_ops_flags = operations;
    end->qp = mrc_create_qp(end->on->context, &attr);
    REQUIRE(end->qp != NULL && mrc_get_qpn(end->qp, &end->qpn) == 0);
    return end->qp;
}

void signals_all(void)
{
    struct pair pair = pair_connected(16, 0);
    (void)special(&pair.ends[0], 1, 0);
    reconnect(&pair);
    CHECK_IS(write_some(&pair, 5, 0), 0);
    expect_completion(pair.ends[0].send_cq, 5, IBV_WC_SUCCESS);
    pair_free(&pair);
}

void restricts_operations(void)
{
    struct pair pair = pair_connected(16, 0);
    (void)special(&pair.ends[0], 0, IBV_QP_EX_WITH_RDMA_WRITE);
    reconnect(&pair);
    CHECK_IS(write_some(&pair, 5, IBV_SEND_SIGNALED), 0);
    expect_completion(pair.ends[0].send_cq, 5, IBV_WC_SUCCESS);
    CHECK_FAILS(post_immediate(&pair.ends[0], 6, &pair, 1, 0), EINVAL, EINVAL);
    (void)special(&pair.ends[0], 0, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM);
    reconnect(&pair);
    CHECK_FAILS(write_some(&pair, 5, 0), EINVAL, EINVAL);
    pair_free(&pair);
}
